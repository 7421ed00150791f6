/* Texts and places in them. The service counts characters (code points), JavaScript counts units
   of UTF-16; everything behind `unitsOf` is in units. */

const LONGEST_NAME = 120; // characters of a line that may be a name

/** What somebody pasted: "pubtator", "names" (one a line) or "text". */
export function kindOf(text) {
  if (/^\s*[^|\s]+\|[ta]\|/.test(text)) return "pubtator";
  const lines = linesOf(text);
  const isName = (line) =>
    line.length <= LONGEST_NAME && !/[.!?;:]$/.test(line) && line.split(/\s+/).length <= 12;
  return lines.every(isName) ? "names" : "text";
}

/** An id for a pasted text: the same for the same text (FNV-1a of its units). */
export function idOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return `pasted-${(hash >>> 0).toString(16).padStart(8, "0")}`;
}

/** The form by which mentions are the same: letters and digits, without case. */
export const formOf = (mention) => mention.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "") || mention;

/** The lines that are not blank, trimmed. */
export const linesOf = (text) =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** A function from a place in characters to one in units. */
export function unitsOf(text) {
  if (!/[\uD800-\uDBFF]/.test(text)) return (place) => place;
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return (place) => places[Math.min(place, places.length - 1)];
}

/** A function from a place in units to one in characters. */
export function charactersOf(text) {
  if (!/[\uD800-\uDBFF]/.test(text)) return (place) => place;
  return (place) => [...text.slice(0, place)].length;
}

/** The words of a text with their places: {start, end}. */
export const wordsOf = (text) =>
  [...text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].map(({ index, 0: word }) => ({
    start: index,
    end: index + word.length,
  }));

/** Widen [start, end) to whole words, without blanks and points around them; null: it has none. */
export function wholeWordsOf(words, start, end) {
  const inside = words.filter((word) => word.start < end && word.end > start);
  if (!inside.length) return null;
  return { start: inside[0].start, end: inside.at(-1).end };
}

/** Cut a text of a length where marks begin and end.
 *
 * `marks` are {spans}; they may overlap, nest, and have gaps. Each piece tells the marks that it is
 * in, the innermost first. A mark's anchor is a piece that no other mark has as its anchor: outer
 * marks choose first; marks that find none stand in `extra` of their last piece.
 */
export function pieces(length, marks) {
  const cuts = new Set([0, length, ...marks.flatMap(({ spans }) => spans.flat())]);
  const places = [...cuts].sort((a, b) => a - b);
  const cut = places.slice(1).map((to, i) => ({ start: places[i], end: to, marks: [], extra: [] }));
  const at = new Map(places.map((place, i) => [place, i]));
  const size = (mark) => mark.spans.reduce((sum, [from, to]) => sum + to - from, 0);
  for (const mark of [...marks].sort((a, b) => size(b) - size(a))) {
    const covered = mark.spans.flatMap(([from, to]) => cut.slice(at.get(from), at.get(to)));
    for (const piece of covered) piece.marks.unshift(mark);
    const free = covered.find((piece) => !piece.anchor);
    if (free) free.anchor = mark;
    else covered.at(-1)?.extra.push(mark);
  }
  return cut;
}

/** Spans in order, of which those that overlap or touch are one, as the service has them. */
export function joined(spans) {
  const result = [];
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

/** Where the words of the parts of a mention stand in it, spans for each; [] where some do not. */
export function spansOfParts(parts, spans, text) {
  const inside = spans.flatMap(([from, to]) =>
    wordsOf(text.slice(from, to)).map(({ start, end }) => [start + from, end + from]),
  );
  const words = inside.map(([start, end]) => text.slice(start, end).toLowerCase());
  const found = parts.map((part) => {
    const places = [];
    for (const { start, end } of wordsOf(part)) {
      const word = part.slice(start, end).toLowerCase();
      places.push(words.indexOf(word, (places.at(-1) ?? -1) + 1));
    }
    if (places.includes(-1)) return null;
    const pieces = [];
    places.forEach((place, number) => {
      if (number && place === places[number - 1] + 1) pieces.at(-1)[1] = inside[place][1];
      else pieces.push([...inside[place]]);
    });
    return pieces;
  });
  return found.includes(null) ? [] : found;
}
