/* What reviewers decided, in words, and shown for a mention with buttons that withdraw it. */

import { nameOf } from "./concept.js";
import { button, byId, fill, make } from "./elements.js";
import { NO_CONCEPT, markOf, noneOf } from "./predictions.js";

const READ_AT_ONCE = 50; // names of concepts
const names = new Map(); // of concepts, by id

/** Read the names of the concepts that predictions were decided to be. */
export async function readNames(predictions) {
  const ids = new Set(predictions.flatMap(({ decisions }) => decisions.flatMap(idsOf)));
  const unknown = [...ids].filter((id) => !names.has(id)).slice(0, READ_AT_ONCE);
  await Promise.all(unknown.map(async (id) => names.set(id, await nameOf(id))));
}

/** Show the decisions on a mention; `withdraw`, if given, is called with one whose button is clicked. */
export function showDecisions(prediction, withdraw) {
  const row = (decision) => {
    const label = `Withdraw ${verdict(decision)} of ${whoOf(decision)} for ${decision.mention}`;
    const attributes = { "aria-label": label };
    const remove = withdraw && button("Withdraw", () => withdraw(decision), attributes);
    return [sentence(decision), " ", remove];
  };
  const { state, decisions = [] } = prediction ?? {};
  fill(
    byId("decisions"),
    state === "disputed" && make("p.conflict", DISAGREE),
    decisions.length > 0 && make("h3", "Decisions"),
    decisions.length > 0 && make("ul", decisions.map((decision) => make("li", row(decision)))),
  );
}

/** What was decided, by whom, when and where. */
export function sentence(decision) {
  const { scope, time, bulk, settles = [] } = decision;
  const when = time ? `, ${time.slice(0, 16).replace("T", " ")} UTC` : "";
  const where = scope ? `in document ${scope}` : "everywhere";
  const inBulk = bulk ? ", in bulk" : "";
  const names = settles.map((name) => whoOf({ reviewer: name })).join(", ");
  const settled = names && `, settles what was said by ${names}`;
  const facts = ` by ${whoOf(decision)}${when}, ${where}${inBulk}${settled}`;
  return [make("strong", verdict(decision)), make("span.note", facts)];
}

/** What a reviewer said earlier, to the same one. */
export function sentenceToItsReviewer(decision) {
  const when = decision.time ? ` on ${decision.time.slice(0, 10)}` : "";
  return `You ${decision.accepted ? "accepted" : "rejected"} ${conceptsOf(decision)}${when}`;
}

export const verdict = (decision) => (decision.accepted ? "" : "not ") + conceptsOf(decision);

function conceptsOf(decision) {
  const named = (id) => `${names.get(id) ?? ""} ${id}`.trim();
  const inWords = (part) => part && (part.map(named).join(" with ") || "no concept");
  const words = partsInWords(partsOf(decision.concept_id).map(inWords));
  const earlier = decision.said ? ` (said of ${decision.said})` : ""; // an id of an earlier release
  return words + markOf(decision.predicate) + earlier;
}

/** What was said of parts, each in words or by its id; of a part that is null nothing was. */
export function partsInWords(parts) {
  const said = parts.map((part, place) => {
    const words = part === NO_CONCEPT ? "no concept" : part;
    return words && (parts.includes(null) ? `part ${place + 1} is ${words}` : words);
  });
  return said.filter(Boolean).join(" and ") || "no concept";
}

const OPEN = "?"; // in decisions, stands for a part on which nobody decided

/** Ids of parts as one text; as linker/ids.py writes them: a backslash stands before a sign that
 * is part of an id. A part that is null is left open. */
export const joined = (ids) => ids.map(escaped).join("|");

function escaped(id) {
  if (id === null) return OPEN;
  if (id === OPEN) return `\\${OPEN}`;
  return id === NO_CONCEPT ? id : id.replace(/[\\|,;]|^\+|\+(?!$)/g, "\\$&");
}

/** The ids of each part in such a text; none of a part without a concept, null for an open one. */
export const partsOf = (text) => (text?.match(/(?:\\.|[^|\\])+/g) ?? []).map(idsOfPart);

function idsOfPart(part) {
  if (part === OPEN) return null;
  if (part === NO_CONCEPT) return [];
  return part.match(/(?:\\.|\+$|[^+\\])+/g).map((id) => id.replace(/\\(.)/g, "$1"));
}

/** The answers of the parts of a row in words; of one on which nobody decided beside decided ones, what
 * the model says. */
export function answersInWords({ answers, ids, state }) {
  const parts = partsOf(ids);
  const none = parts.includes(null) ? "no concept" : noneOf({ state });
  return answers.map((answer, place) => {
    if (parts[place] !== null) return answer?.name ?? none;
    return answer ? `open (perhaps ${answer.name})` : "open";
  });
}

const idsOf = ({ concept_id: ids }) => partsOf(ids).flat().filter(Boolean);
export const whoOf = ({ reviewer }) => reviewer || "nobody named";

/** Those who disagree on a mention, whom a decision on it settles. */
export const disputants = ({ state, decisions }) =>
  state === "disputed" ? [...new Set(decisions.map(({ reviewer }) => reviewer))] : [];

const DISAGREE =
  "Reviewers disagree on this mention, and the model answers. What is decided here settles it.";
