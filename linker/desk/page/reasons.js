/* Why an answer is as it is: POST /explain, asked for when somebody opens it. First in plain words,
   then the figures, folded away. */

import { postJson } from "./api.js";
import { byId, fill, make, percent, showingLatest } from "./elements.js";
import { READ, inWords } from "./predictions.js";

const KINDS = {
  exact: "a synonym",
  narrow: "a narrower name",
  broad: "a broader name",
  related: "a related name",
  abbreviation: "a short form",
};
const DOUBTS = {
  "other case": "a name of the concept in other case only, and that name is a short form",
  "short form": "a short form, and no text says what it stands for",
  "annotated short form": "a short form, and no text says what it stands for",
  "unexplained short form": "a short form, and its document does not say what it stands for",
  "listed short form": "a short form that a list explains, not its text",
};
/* Why a candidate is not the first, by the column of linker/linking/matches.py that says most of it. */
const UNLIKE = "its name is less like the mention";
const WHYS = [
  [/^(only|of)_(mention|concept)$|^common$|^head_inside$/, "its name lacks words of the mention"],
  [/^(only|of)_name$|^extra$|^longer$/, "its name has words that the mention lacks"],
  [/^numbers/, "its numbers are other ones"],
  [/^annotated/, "it was annotated less often"],
  [/^above_first$/, "it is broader"],
  [/^below_first$/, "it is narrower"],
];

const show = showingLatest("reasons-body", async (entry, concept) => {
  if (!entry) return null;
  const { item, prediction } = entry;
  await item.read?.();
  const body = { mention: prediction.mention, concept, k: 3 };
  if (item.document) body.document = { id: item.document.id, text: item.text };
  return reasonsOf(await postJson("explain", body));
});

/** Show the reasons for an entry's answer, or nothing; `concept`: also why it is not the first. */
export function showReasons(entry, concept) {
  if (entry) fill(byId("reasons-body"), make("p.note", "Asking …"));
  return show(entry, concept);
}

function reasonsOf(explanation) {
  return [
    explanation.question && answer(explanation),
    sentences(explanation).map((text) => make("p", text)),
    make("details", make("summary", "The figures"), make("pre.figures", explanation.text)),
  ];
}

/** Why the answer is as it is, without figures but its confidence. */
function sentences({ by_decision: decided, readings, parts }) {
  const { kind, expansions } = readings.find(({ won }) => won);
  const forms = expansions.map(({ short, long }) => `${short} stands for ${long} here.`);
  return [
    decided && "People decided about this mention. What follows is why the model answers so.",
    ...new Set(forms),
    (kind === "split" || kind === "shortened") && `It is read ${READ[kind]}.`,
    ...parts.flatMap((part) => [
      calledSo(part, parts.length > 1 ? `“${part.lookup.text}”` : "It"),
      howSure(part),
      runnerUp(part),
    ]),
  ].filter(Boolean);
}

/** By which name the first candidate of a part was found; `it` is what the part is called. */
function calledSo({ candidates: [best] }, it) {
  if (!best) return `No name of the dictionary is like ${it === "It" ? "it" : it}.`;
  const { text, kind, exact, lent, source } = best.matched;
  const is = {
    preferred: `“${text}” is the name of the concept`,
    training: `annotators marked “${text}” as ${best.name}`,
  };
  const name = is[kind] ?? `“${text}” is ${KINDS[kind]} of ${best.name}`;
  const match = best.match ?? {};
  const more = [
    match.same_words > 0 && "the words are the same, in another order or form",
    match.only_mention > 0 && "the mention has words that this name lacks",
    match.only_name > 0 && "this name has words that the mention lacks",
  ].filter(Boolean);
  const lender = lent ? `, lent by ${source}` : "";
  if (exact) return `${it} is called so: ${name}${lender}.`;
  const but = more.length ? `; ${more.join(", and ")}` : "";
  return `${it} is much like a name: ${name}${lender}${but}.`;
}

/** How sure the answer of a part is, or why there is none. */
function howSure({ candidates: [best], rejected, limit, doubt, none, missed }) {
  if (!best || best.confidence === null) return "";
  const why = none > missed ? ": the dictionary may well have none for it" : "";
  if (rejected) return `No concept is sure enough${why}.`;
  const so = `How sure it is: ${inWords(best.confidence)} (${percent(best.confidence)})`;
  return limit === null ? `${so}.` : `${so}, and never surer: it is ${DOUBTS[doubt]}.`;
}

function runnerUp({ candidates: [best, second] }) {
  if (!best) return "";
  if (!second) return "No other concept has a name like it.";
  const share = second.confidence === null ? "" : ` (${percent(second.confidence)})`;
  const who = `${second.name}${share}, by “${second.matched.text}”`;
  return `Runner-up: ${who}; it lost because ${lostBy(second)}.`;
}

/** Why a candidate is not the first. */
const lostBy = ({ behind }) =>
  behind.flatMap(({ name }) => WHYS.filter(([of]) => of.test(name)))[0]?.[1] ?? UNLIKE;

/** Why the concepts that were asked for are not the first. */
function answer({ question }) {
  const lines = question.concepts.map((concept) => {
    const { name, excluded, candidate, first_as: texts } = concept;
    if (excluded.length) return `${name} cannot be answered here: ${excluded.join(" and ")}.`;
    if (!candidate) return `${name} shares no piece of a name with the mention.`;
    if (candidate.rank === 1) return `${name} is the first candidate.`;
    const read = texts.join(" or ");
    const first = read && ` It is first where the mention is read as ${read}.`;
    return `${name} has rank ${candidate.rank}; it lost because ${lostBy(candidate)}.${first}`;
  });
  return [make("h4", `Why not ${question.id}?`), lines.map((line) => make("p", line))];
}
