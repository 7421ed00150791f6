/* Texts with their mentions as elements, and places of a text in these. Each element with data-start
   holds one piece of the text; what stands between these holds no text of it. */

import { make } from "./elements.js";
import { ASSERTED } from "./predictions.js";
import { pieces } from "./text.js";

/** A text with marked mentions; `marks` are {number, spans}, and `of` gives the {look, assertion} of
 * a mention by its number, and the attributes of its link.
 */
export function shownText(text, marks, of) {
  return pieces(text.length, marks).map(({ start, end, marks, anchor, extra }) => {
    const content = text.slice(start, end);
    const attributes = { "data-start": start };
    if (!marks.length) return make("span", attributes, content);
    Object.assign(attributes, {
      "data-entries": marks.map((mark) => mark.number).join(" "),
      "data-state": of(marks[0].number).look,
      "data-depth": Math.min(marks.length, 3),
    });
    const asserted = anchor && ASSERTED[of(anchor.number).assertion];
    if (asserted) attributes["data-asserted"] = asserted; // the word is no text that is marked
    const link = (name, number, more, shown) =>
      make(name, { ...more, "data-anchor": number, ...of(number).link }, shown);
    return [
      anchor
        ? link("a.mention", anchor.number, attributes, content)
        : make("span.mention", attributes, content),
      extra.map(({ number }) => link("a.extra", number, { "data-entries": number }, "+")),
    ];
  });
}

/** The numbers of the mentions that an element is a piece of, the innermost first. */
const numbersOf = (element) => element.dataset.entries.split(" ").map(Number);

/** The number of the mention that a click means: the innermost; clicked again, the one around it. */
export function clickedOf(element, current) {
  const numbers = numbersOf(element);
  return numbers[(numbers.indexOf(current) + 1) % numbers.length];
}

/** Show which mention is selected, by its number. */
export function markSelected(shown, current) {
  for (const element of shown.querySelectorAll("[data-entries]")) {
    element.classList.toggle("selected", numbersOf(element).includes(current));
    if (element.dataset.anchor === `${current}`) element.setAttribute("aria-current", "true");
    else element.removeAttribute("aria-current");
  }
}

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
