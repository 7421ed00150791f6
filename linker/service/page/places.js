/* Places of a text in the elements that show it. Each element with data-start holds one piece of
   the text; what stands between these holds no text of it. */

/** The place in the text of a point of the document; null where it is outside. */
export function placeOf(shown, node, offset) {
  if (!shown.contains(node)) return null;
  const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
  const piece = element.closest("[data-start]");
  if (piece) {
    const inside = node.nodeType === Node.TEXT_NODE ? offset : offset && piece.textContent.length;
    return Number(piece.dataset.start) + inside;
  }
  let next = element === shown ? shown.childNodes[offset] : element;
  while (next && next.dataset?.start === undefined) next = next.nextSibling;
  return Number((next ?? shown).dataset[next ? "start" : "end"]);
}

/** The place under a pointer; null where none is. */
export function placeAt(shown, x, y) {
  const point = document.caretPositionFromPoint?.(x, y);
  if (point) return placeOf(shown, point.offsetNode, point.offset);
  const range = document.caretRangeFromPoint?.(x, y);
  return range && placeOf(shown, range.startContainer, range.startOffset);
}

/** The range of the document from a place to another; both are shown. */
export function rangeOf(shown, start, end) {
  const range = document.createRange();
  for (const piece of shown.querySelectorAll("[data-start]")) {
    const [from, text] = [Number(piece.dataset.start), piece.firstChild];
    if (from <= start && start <= from + text.length) range.setStart(text, start - from);
    if (from <= end && end <= from + text.length) {
      range.setEnd(text, end - from);
      break;
    }
  }
  return range;
}

/** What is selected of the text: {start, end}; null where nothing is. */
export function selectedOf(shown) {
  const selection = getSelection();
  if (selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  const start = placeOf(shown, range.startContainer, range.startOffset);
  const end = placeOf(shown, range.endContainer, range.endOffset);
  return start === null || end === null || start >= end ? null : { start, end };
}

/** Show [start, end) as selected. */
export function showSelected(shown, { start, end }) {
  const range = rangeOf(shown, start, end);
  getSelection().setBaseAndExtent(
    range.startContainer,
    range.startOffset,
    range.endContainer,
    range.endOffset,
  );
}

/** Draw the text anew; what is selected of it stays so, also under a mouse that selects on. */
export function drawAnew(shown, draw) {
  const { anchorNode, anchorOffset, focusNode, focusOffset } = getSelection();
  const ends = [[anchorNode, anchorOffset], [focusNode, focusOffset]];
  const places = ends.map((end) => placeOf(shown, ...end));
  draw();
  if (places.every((place) => place === null)) return;
  const [from, to] = places.map((place, n) => (place === null ? ends[n] : pointOf(shown, place)));
  if (from && to) getSelection().setBaseAndExtent(...from, ...to);
}

/** The point of the document, a node and an offset, at a place; null where that is not shown. */
function pointOf(shown, place) {
  for (const { dataset, firstChild } of shown.querySelectorAll("[data-start]")) {
    const inside = place - dataset.start;
    if (0 <= inside && inside <= firstChild.length) return [firstChild, inside];
  }
  return null;
}

/** The word of the next line that stands nearest below (or above) another one; undefined: none.
 *
 * `words` are those behind it, or those before it, the nearest first.
 */
export function lineBehind(shown, from, words) {
  const box = ({ start, end }) => rangeOf(shown, start, end).getBoundingClientRect();
  const { left, top } = box(from);
  let [line, best] = [null, undefined];
  for (const word of words) {
    const at = box(word);
    if (Math.abs(at.top - top) < at.height / 2) continue;
    if (line !== null && Math.abs(at.top - line) > at.height / 2) break;
    line ??= at.top;
    const distance = Math.abs(at.left - left);
    if (best === undefined || distance < best.distance) best = { word, distance };
  }
  return best?.word;
}
