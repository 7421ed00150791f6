/* What is linked: items (a document or a loose mention, as the service takes them) with their
   predictions, and entries, one for each mention. */

import { post, postJson } from "./api.js";
import { formOf, textOf, unitsOf } from "./text.js";

const BATCH = 200; // mentions of one request, so that the first ones are soon there
const BATCH_CHARACTERS = 200_000;
const ANEW = 200; // entries that are all linked again after a decision
export const NO_CONCEPT = "-1"; // the id, in decisions, of a part without a concept
export const MOST = 30; // candidates of a part that are asked for when more are wanted

export class Session {
  /** `sources` are {document} or {mention}; `limits` those of GET /model. */
  constructor(sources, limits) {
    this.items = sources.map((source) => ({ ...source, predictions: [] }));
    this.limits = limits;
    for (const item of this.items) if (item.document) item.text = textOf(item.document);
  }

  get hasDocuments() {
    return this.items.some((item) => item.document);
  }

  /** Link items, in batches; `progress` is called after each with the share that is done. */
  async link(items, { signal, progress = () => {} } = {}) {
    let done = 0;
    for (const batch of batchesOf(items, this.limits)) {
      const { predictions } = await postJson(batch.path, batch.body, signal);
      distribute(batch.items, predictions);
      progress((done += batch.items.length) / items.length);
    }
  }

  /** Link again what a decision on a mention may change. */
  async refresh(mention) {
    const same = (prediction) => formOf(prediction.mention) === formOf(mention);
    const few = this.entries().length <= ANEW;
    await this.link(this.items.filter((item) => few || item.predictions.some(same)));
  }

  /** Add further candidates to those of an entry, whose answer stays; tell how many. */
  async more({ item, prediction }) {
    const { mention: text, spans, parts } = prediction;
    const document = item.document && { ...item.document, mentions: [{ text, spans }] };
    const { path, body } = requestOf([document ? { document } : item]);
    const { predictions } = await postJson(path, { ...body, k: MOST });
    let added = 0;
    for (const part of parts) {
      const known = new Set(part.candidates.map((candidate) => candidate.concept_id));
      const same = predictions[0].parts.find((other) => other.text === part.text);
      const others = same?.candidates.filter(({ concept_id: id }) => !known.has(id)) ?? [];
      added += part.candidates.push(...others) - known.size;
    }
    return added;
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
      const response = await post(`${batch.path}?format=${format}`, batch.body);
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

function requestOf(items) {
  const kind = kindOf(items[0]);
  if (kind === "mentions")
    return { path: "link", items, body: { mentions: items.map((item) => item.mention) } };
  const path = kind === "texts" ? "annotate" : "link";
  return { path, items, body: { documents: items.map((item) => item.document) } };
}

/** Give each item its predictions, which come in order. */
function distribute(items, predictions) {
  if (items[0].mention) {
    items.forEach((item, number) => (item.predictions = [predictions[number]]));
    return;
  }
  for (const item of items)
    item.predictions = predictions.filter((p) => p.document_id === item.document.id);
}

/** A file behind another one of its format: without comments and header. */
function withoutHead(text, format) {
  if (format !== "tsv" && format !== "sssom") return text;
  return text.replace(/^(#.*\n)*.*\n/, "");
}

/** The concepts that a prediction answers with, one for each part; null: no concept. */
export const answersOf = (prediction) =>
  prediction.parts.map((part) => (part.nil ? null : (part.candidates[0] ?? null)));

/** How a mention is read, in words. */
export const READ = {
  whole: "as it is written",
  expanded: "with its short form expanded",
  split: "in parts",
  shortened: "without some of its words",
};

/** The lowest confidence of an answer's parts; null where there is none.
 *
 * That of a part that was decided to have no concept is the model's, and does not count.
 */
export function confidenceOf(prediction) {
  const parts = prediction.parts.filter(({ nil }) => !nil || prediction.source !== "decision");
  const known = parts.map((part) => part.confidence).filter((c) => c !== null);
  return known.length ? Math.min(...known) : null;
}

/** The states of an entry, in words. */
export const STATES = {
  conflict: "in conflict",
  unsure: "unsure",
  none: "no concept",
  linked: "linked",
  accepted: "accepted",
  nothing: "decided: no concept",
  rejected: "with a rejected concept",
};

/** The state of an entry, which says what the model or the reviewers answered. */
export function stateOf({ prediction, decisions, disagree }) {
  if (disagree) return "conflict";
  const answers = answersOf(prediction);
  if (answers.some((answer) => answer?.source === "decision")) return "accepted";
  if (prediction.source === "decision")
    return decisions.some((decision) => decision.accepted) ? "nothing" : "rejected";
  if (answers.every((answer) => answer === null)) return "none";
  return answers.includes(null) || (confidenceOf(prediction) ?? 1) < 0.5 ? "unsure" : "linked";
}

/** The document in which a mention stands; empty where there is none. */
export const scopeOf = ({ item }) => item.document?.id ?? item.mention.document_id ?? "";
