/* Why an answer is as it is: POST /explain, asked for when somebody opens it. */

import { postJson } from "./api.js";
import { byId, fill, make, percent, showingLatest } from "./elements.js";
import { READ } from "./session.js";

const MOST = 6; // pieces of a mention that are shown
const TERMS = {
  dense: "vectors",
  sparse: "characters",
  bonus: "bonus of a frequent name",
};
const TIES = {
  annotations: "how often its name was annotated with it",
  lent: "its name, which no other vocabulary lent",
  kind: "the kind of its name",
  id: "its id, which comes first in order",
};

const show = showingLatest("reasons-body", async (body) =>
  body && reasonsOf(await postJson("explain", body)),
);

/** Show the reasons for an entry's answer, or nothing; `concept`: also why it is not the first. */
export function showReasons(entry, concept) {
  if (!entry) return show(null);
  const { item, prediction } = entry;
  const body = { mention: prediction.mention, concept, k: 3 };
  if (item.document) body.document = { id: item.document.id, text: item.text };
  fill(byId("reasons-body"), make("p.note", "Asking …"));
  return show(body);
}

function reasonsOf(explanation) {
  const several = explanation.parts.length > 1;
  return [
    explanation.question && answer(explanation),
    readings(explanation.readings),
    explanation.parts.map((part) => [
      several && make("h4", part.lookup.text),
      reasonsOfPart(part, explanation),
    ]),
    make("p.note", `Confidence: ${explanation.provenance}.`),
  ];
}

function readings(all) {
  const forms = all.flatMap((reading) => reading.expansions);
  const sentences = new Set(forms.map(({ short, long }) => `${short} stands for ${long} here.`));
  const line = ({ kind, lookups, first, won, confidence }) => {
    const looked = lookups.map((lookup) => lookup.text).join(" | ");
    const names = first.map((place) => place?.name ?? "none").join(" | ");
    const share = confidence === null ? "" : `, ${percent(confidence)}`;
    return make(won ? "li.won" : "li", `${READ[kind]} (“${looked}”): ${names}${share}`);
  };
  return [
    [...sentences].map((text) => make("p", text)),
    all.length > 1 && [make("h4", "Ways to read it"), make("ul", all.map(line))],
  ];
}

function reasonsOfPart(part, explanation) {
  const [best, ...others] = part.candidates;
  if (!best) return make("p", "No name of the dictionary is like it.");
  return [
    make("p", matchOf(best)),
    make("p", confidenceOf(best, part, explanation)),
    make("p", `Score ${sumOf(best.parts)}`),
    best.ngrams.length > 0 && make("p", "Carried by ", shares(best.ngrams)),
    make("ul", others.map((other) => make("li", `ahead of ${other.name} by ${lead(best, other)}`))),
  ];
}

/** How far the first candidate is ahead of another one, or by which rule. */
function lead(best, other) {
  const rule = TIES[other.decided_by];
  if (rule) return `${rule}, since the scores are equal`;
  if (other.decided_by === "score") return `${number(best.parts.score - other.parts.score)} of score`;
  const most = other.behind.slice(0, 2).map(({ says }) => says);
  return `${percent(best.confidence)} to ${percent(other.confidence)}${most.length ? `: ${most.join("; ")}` : ""}`;
}

function matchOf({ name, matched }) {
  const facts = [
    `${matched.kind} name`,
    matched.exact && "the same as the mention",
    matched.source && `${matched.lent ? "lent by" : "of"} ${matched.source}`,
    matched.annotated && `times annotated: ${matched.annotated}`,
  ].filter(Boolean);
  return `${name} was found by its name “${matched.text}” (${facts.join(", ")}).`;
}

function confidenceOf({ confidence }, { rejected, limit }, { none, missed }) {
  if (confidence === null || none === null) return "The model has no confidence.";
  const why = limit === null ? "" : `, at most ${percent(limit)} for a short form that nothing explains`;
  const others =
    `That the dictionary has no concept for it is ${percent(none)} probable, ` +
    `that it has one which was not found ${percent(missed)}.`;
  const answer = rejected ? "No concept is answered. The first one has" : "It has";
  return `${answer} a confidence of ${percent(confidence)}${why}. ${others}`;
}

const number = (value) => value.toFixed(3);

function sumOf(parts) {
  const values = { ...parts, sparse: parts.sparse_weight * parts.sparse };
  const terms = Object.keys(TERMS).filter((name) => values[name]);
  const sum = terms.map((name) => `${number(values[name])} (${TERMS[name]})`).join(" + ");
  return `${number(parts.score)} = ${sum || "0"}`;
}

/** Pieces of a mention, with visible blanks, and what each gives. */
function shares(all) {
  return all.slice(0, MOST).map(({ text, value }) => {
    const piece = make("code", text.replaceAll(" ", "␣"));
    return [make("span.share", piece, ` ${number(value)}`), " "];
  });
}

/** The answer to the question why a concept is not the first. */
function answer({ question, parts }) {
  const lines = question.concepts.map((concept) => {
    const { name, excluded, candidate, missing, first_as: texts } = concept;
    if (excluded.length) return `${name} cannot be answered here: ${excluded.join(" and ")}.`;
    if (!candidate) return `${name} shares no piece of a name with the mention.`;
    if (candidate.rank === 1) return `${name} is the first candidate.`;
    const best = parts[concept.part].candidates[0];
    return [
      `${name} has rank ${candidate.rank}: ${best.name} is ahead by ${lead(best, candidate)}. `,
      missing.length > 0 && ["It lacks ", shares(missing)],
      texts.length > 0 && `It is first where the mention is read as ${texts.join(" or ")}.`,
    ];
  });
  return [make("h4", `Why not ${question.id}?`), lines.map((line) => make("p", line))];
}
