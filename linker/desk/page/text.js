/* Texts and places in them. The service counts characters (code points), JavaScript counts units
   of UTF-16; everything behind `unitsOf` is in units. */

// as the service has them, in sources.py
const [LONGEST_NAME, MOST_WORDS] = [120, 12]; // of a line that may be a name
const FEWEST_WORDS = 3; // of a line that is a sentence
const NARROWEST = 40; // characters of the lines of a text that is wrapped
const SENTENCE_LINES = 10; // of such a text, among which one has the end of a sentence

/** What somebody pasted: "pubtator", "names" (one a line) or "text". */
export function kindOf(text) {
  if (/^\s*[^|\s]+\|[ta]\|/.test(text)) return "pubtator";
  return isProse(text) ? "text" : "names";
}

/** Whether at least half of the characters of a text stand in lines that are prose. */
function isProse(text) {
  let [prose, total] = [0, 0];
  for (const paragraph of text.split(/(?:\r\n|\r|\n)\s*(?:\r\n|\r|\n)/)) {
    const lines = linesOf(paragraph);
    const width = lines.reduce((most, line) => Math.max(most, line.length), 0);
    const sentences = lines.filter((line) => /[.!?](\s+[A-Z]|$)/.test(line)).length;
    const isText = width >= NARROWEST && SENTENCE_LINES * sentences >= lines.length;
    lines.forEach((line, i) => {
      // a wrapped line fills most of the width, and the sentence goes on in the next one
      const isWrapped = isText && 3 * line.length > 2 * width && /^\p{Ll}/u.test(lines[i + 1] ?? "");
      total += line.length;
      prose += isWrapped || isSentence(line) ? line.length : 0;
    });
  }
  return total > 0 && 2 * prose >= total;
}

/** Whether a line by itself is no name. */
function isSentence(line) {
  const words = line.split(/\s+/).length;
  const ends = words >= FEWEST_WORDS && /[.!?;:]$/.test(line);
  return ends || words > MOST_WORDS || line.length > LONGEST_NAME;
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
