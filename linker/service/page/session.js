/* What is linked: items (a document or a loose mention, as the service takes them) with their
   predictions, and entries, one for each mention. */

import { post, postJson } from "./api.js";
import { make } from "./elements.js";
import { formOf, textOf, unitsOf } from "./text.js";

const BATCH = 200; // mentions of one request, so that the first ones are soon there
const BATCH_CHARACTERS = 200_000;
const ANEW = 200; // entries that are all linked again after a decision
export const NO_CONCEPT = "-1"; // the id, in decisions, of a part without a concept
export const MOST = 30; // candidates of a part that are asked for when more are wanted

export class Session {
  /** `sources` are {document} or {mention, inTable}, `limits` those of GET /model, and `files` are
   * {name, content, column}: what the sources are of; those with a column are tables.
   */
  constructor(sources, limits, files) {
    this.items = sources.map((source) => ({ ...source, predictions: [] }));
    this.limits = limits;
    this.tables = files.filter(({ column }) => column);
    this.requests = 0;
    for (const item of this.items) if (item.document) item.text = textOf(item.document);
  }

  get hasDocuments() {
    return this.items.some((item) => item.document);
  }

  get isAllTables() {
    return this.items.every((item) => item.inTable);
  }

  /** Link items, in batches; `progress` is called after each with the share that is done.
   *
   * An answer is dropped where an item was asked for again meanwhile.
   */
  async link(items, { signal, progress = () => {} } = {}) {
    let done = 0;
    for (const batch of batchesOf(items, this.limits)) {
      const request = ++this.requests;
      for (const item of batch.items) item.request = request;
      const { predictions } = await postJson(batch.path, batch.body, signal);
      distribute(batch.items, predictions, request);
      progress((done += batch.items.length) / items.length);
    }
  }

  /** Link again what a decision on a mention may change. */
  async refresh(mention) {
    const same = (prediction) => formsOf(prediction).includes(formOf(mention));
    const few = this.entries().length <= ANEW;
    await this.link(this.items.filter((item) => few || item.predictions.some(same)));
  }

  /** The mentions with their predictions, in order; spans are in units of UTF-16. */
  entries() {
    return this.items.flatMap((item) => {
      const units = item.document ? (item.units ??= unitsOf(item.text)) : null;
      return item.predictions.map((prediction) => ({
        item,
        prediction,
        spans: units ? (prediction.spans ?? []).map((span) => span.map(units)) : [],
      }));
    });
  }

  /** Everything as a file of a format; decisions count in it, since it is linked for it. */
  async download(format) {
    const texts = [];
    for (const batch of batchesOf(this.items, this.limits)) {
      const body = format === "tsv" ? { ...batch.body, k: 1 } : batch.body;
      const response = await post(`${batch.path}?format=${format}`, body);
      texts.push(await response.text());
    }
    return texts.map((text, number) => (number ? withoutHead(text, format) : text)).join("");
  }
}

/** Cut items to requests: same kind, few enough mentions and characters, no document id twice. */
export function* batchesOf(items, limits = {}) {
  const most = Math.min(BATCH, limits.mentions ?? BATCH, limits.documents ?? BATCH);
  let [batch, size, characters] = [[], 0, 0];
  let ids = new Set();
  for (const item of items) {
    const mentions = item.document?.mentions?.length || 1;
    const length = (item.text ?? item.mention.text).length;
    const full = size + mentions > most || characters + length > BATCH_CHARACTERS;
    const changes = batch.length && kindOf(batch[0]) !== kindOf(item);
    if (batch.length && (full || changes || (item.document && ids.has(item.document.id)))) {
      yield requestOf(batch);
      [batch, size, characters, ids] = [[], 0, 0, new Set()];
    }
    batch.push(item);
    size += mentions;
    characters += length;
    if (item.document) ids.add(item.document.id);
  }
  if (batch.length) yield requestOf(batch);
}

/** Documents without marked mentions are annotated: their mentions are found first. */
const kindOf = (item) =>
  item.mention ? "mentions" : item.document.mentions?.length ? "documents" : "texts";

/** The request that links items of one kind: {path, items, body}. */
export function requestOf(items) {
  const kind = kindOf(items[0]);
  if (kind === "mentions")
    return { path: "link", items, body: { mentions: items.map((item) => item.mention) } };
  const path = kind === "texts" ? "annotate" : "link";
  return { path, items, body: { documents: items.map((item) => item.document) } };
}

/** Give each item its predictions, which come in order. */
function distribute(items, predictions, request) {
  items.forEach((item, number) => {
    if (item.request !== request) return;
    item.predictions = item.mention
      ? [predictions[number]]
      : predictions.filter((p) => p.document_id === item.document.id);
  });
}

/** A file behind another one of its format: without comments and header. */
const withoutHead = (text, format) =>
  format === "sssom" || format === "tsv" ? text.replace(/^(#.*\n)*.*\n/, "") : text;

/** What stands for a part without an answer; that a mention is open says nothing of concepts. */
export const noneOf = ({ state }) => (state === "open" ? "no answer yet" : "no concept");

/** The concepts that a prediction answers with, one for each part; null: no concept. */
export const answersOf = (prediction) =>
  prediction.parts.map((part) => (part.nil ? null : (part.candidates[0] ?? null)));

/* What a text says of what it names, where that is not plainly present; see linker/types.py. */
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
};

/* How sure the model is, in words: the one scale, which docs/confidence.md explains. */
const UNSURE = 0.5; // an answer with a lower confidence is a guess
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

/** The forms that decisions on a mention may be on: its own, and that of its long form. */
const formsOf = (prediction) =>
  [prediction.mention, longForm(prediction)].filter(Boolean).map(formOf);

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
