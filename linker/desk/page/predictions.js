/* Predictions of the service, in words and by their looks. */

import { make } from "./elements.js";

export const NO_CONCEPT = "-1"; // the id, in decisions, of a part without a concept
export const MOST = 30; // candidates of a part that are asked for when more are wanted

/** What stands for a part without an answer; that a mention is open says nothing of concepts. */
export const noneOf = ({ state }) => (state === "open" ? "no answer yet" : "no concept");

/** The concepts that a prediction answers with, one for each part; null: no concept. */
export const answersOf = (prediction) =>
  prediction.parts.map((part) => (part.nil ? null : (part.candidates[0] ?? null)));

/** Whether nobody decided on a part of a prediction. */
export function isOpenPart({ state, parts }, place) {
  if (isDecided(state)) return false;
  const isDecidedInParts = parts.some(({ open }) => open);
  return isDecidedInParts ? Boolean(parts[place].open) : true;
}

/* What a text says of what it names, where that is not plainly present; see linker/records.py. */
export const ASSERTED = {
  absent: "denied",
  possible: "possible",
  historical: "past",
  family: "in the family",
  mixed: "mixed",
};
const MEANS = {
  absent: "The text denies it. The concept is that of what is denied.",
  possible: "The text says that it may be so, or asks for it.",
  historical: "The text says that it was so.",
  family: "The text says it of a relative.",
  mixed: "The text does not say the same of all parts or mentions: some are denied, say.",
};

/** A word beside a mention that the text denies, doubts, or says of the past or of a relative; null
 * where it is present. It is never accepted together with others. */
export function assertionOf(assertion = "present") {
  if (assertion === "present") return null;
  return make("span.asserted", { title: meaningOf(assertion) }, ASSERTED[assertion]);
}

/** What the word means; empty where a mention is present. */
export const meaningOf = (assertion) =>
  assertion in MEANS ? `${MEANS[assertion]} It is accepted one by one, never in bulk.` : "";

/** How a mention is read, in words. */
export const READ = {
  whole: "as it is written",
  expanded: "with its short form expanded",
  split: "in parts",
  shortened: "without some of its words",
  respelt: "with a word respelt",
};

/* How sure the model is, in words: the one scale, which docs/confidence.md explains. */
const UNSURE = 0.5; // an answer with a lower confidence is a guess
export const HARDLY = 0.01; // a candidate with a lower one is shown only where more are asked for
export const DOUBTFUL = 0.1; // an answer with a lower one is hardly ever right

const SCALE = [
  [0.95, "almost surely right"],
  [0.8, "probably right"], // no short form that its text leaves open has so much
  [UNSURE, "may be right"],
  [0, "a guess"],
];

/** A confidence in words. */
export const inWords = (confidence) => SCALE.find(([least]) => confidence >= least)[1];

/** The lowest confidence of an answer's parts; null where there is none.
 *
 * That of a part that people left without a concept is the model's, and does not count.
 */
export function confidenceOf({ parts, state }) {
  const isModels = state === "model" || state === "disputed";
  const counted = parts.filter(({ nil }) => !nil || isModels);
  const known = counted.map((part) => part.confidence).filter((c) => c !== null);
  return known.length ? Math.min(...known) : null;
}

/** How predictions look, in words: the states, of which that of the model has three. */
export const LOOKS = {
  disputed: "disputed",
  open: "open",
  rejected: "rejected",
  accepted: "accepted",
  "accepted in bulk": "accepted in bulk",
  "no concept": "no concept",
  linked: "model",
  unsure: "model, unsure",
  none: "model, no concept",
  "not linked": "not linked",
};

/** Whether the answer of a state was decided. */
export const isDecided = (state) => state === "accepted" || state === "no concept";

/** How a prediction looks: its state, or how sure the model is. */
export const lookOf = (prediction) =>
  look(prediction.state, answersOf(prediction), confidenceOf(prediction));

/** How an answer looks: its state, the concepts of its parts, and its confidence. */
export function look(state, answers, confidence) {
  if (state !== "model") return state;
  if (answers.every((answer) => answer === null)) return "none";
  return answers.includes(null) || (confidence ?? 1) < UNSURE ? "unsure" : "linked";
}

/** The text of a mention with its short form expanded; undefined where it has none. */
export const longForm = ({ parts }) => parts.find(({ expanded }) => expanded)?.expanded;

/** Whether two entries are the same row of a project, or else the same mention, though it may have
 * been linked again.
 */
export function isSame(one, other) {
  if (one?.row || other?.row) return one?.row?.key === other?.row?.key;
  return (
    one?.item === other?.item &&
    one?.prediction.mention === other?.prediction.mention &&
    String(one?.prediction.spans) === String(other?.prediction.spans)
  );
}

/** The document in which a mention stands; empty where there is none. */
export const scopeOf = ({ item }) => item.document?.id ?? item.mention.document_id ?? "";

/* What a concept that is chosen is to the mention: the kinds of mappings of SSSOM. */
export const KINDS = {
  "": "exactly it",
  broad: "broader than it",
  narrow: "narrower than it",
  related: "related to it",
};

/** A kind in words, as a mark behind a concept; empty for one that is exactly meant. */
export const markOf = (predicate) => (predicate ? ` (${KINDS[predicate]})` : "");
