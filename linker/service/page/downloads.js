/* The files that are saved: a table with its answers, a row for each mention, or a format of the
   service. */

import { send } from "./api.js";
import { make } from "./elements.js";
import { answersOf, scopeOf } from "./session.js";

const ENDINGS = { sssom: "sssom.tsv", pubtator: "pubtator.txt" };

/** Save a session in a format, and tell the names of the files; `entries` are its mentions. */
export async function download(session, entries, format) {
  const files = [];
  if (format === "table")
    for (const table of session.tables) files.push([await withAnswers(table), nameOf(table)]);
  else if (format in QUOTED) files.push([rowsOf(session, entries, format), `linked.${format}`]);
  else files.push([await session.download(format), `linked.${ENDINGS[format] ?? format}`]);
  for (const [content, name] of files) save(content, name);
  return files.map(([, name]) => name);
}

/** A table, as it came in, with the answers behind its columns. */
async function withAnswers({ content, name, column }) {
  const query = new URLSearchParams({ column, name });
  const request = { method: "POST", body: content, type: "application/octet-stream" };
  return (await send(`table?${query}`, request)).blob();
}

/** table.csv becomes table.linked.csv. */
const nameOf = ({ name }) => name.replace(/(\.[^.]*)?$/, ".linked$1");

/** A table with a row for each mention; what stands for several parts is joined by "|". */
function rowsOf(session, entries, format) {
  const mention = ({ prediction }) => prediction.mention;
  const columns = { mention, ...(session.hasDocuments && DOCUMENT_CELLS), ...CELLS };
  const rows = entries.map((entry) => Object.values(columns).map((cell) => cell(entry)));
  return [Object.keys(columns), ...rows].map((row) => `${QUOTED[format](row)}\n`).join("");
}

const DOCUMENT_CELLS = {
  document_id: scopeOf,
  spans: ({ prediction }) => (prediction.spans ?? []).map((span) => span.join("-")).join(";"),
  expanded: ({ prediction }) => prediction.parts[0].expanded ?? "",
};
const joined = (texts) => (texts.some(Boolean) ? texts.join("|") : "");
const ofAnswers = (key) => ({ prediction }) =>
  joined(answersOf(prediction).map((answer) => answer?.[key]));
const ofParts = (value) => ({ prediction }) =>
  joined(prediction.parts.map((part) => value(part, prediction)));
const ofDecisions = (value) => ({ prediction }) =>
  prediction.decisions.length ? value(prediction.decisions) : "";
const seen = (all) => all.filter(({ bulk }) => !bulk); // of what nobody looked at, nobody is named
const reviewersOf = (all) => new Set(seen(all).map(({ reviewer }) => reviewer).filter(Boolean));

// as linker link --column writes them
const CELLS = {
  concept_id: ofAnswers("concept_id"),
  name: ofAnswers("name"),
  matched_name: ofAnswers("matched_name"),
  confidence: ofParts((part) => part.confidence?.toFixed(4)),
  rejected: ofParts((part) => (part.nil ? part.rejected?.concept_id : "")),
  assertion: ofParts(({ assertion }) => (assertion === "present" ? "" : assertion)),
  state: ({ prediction }) => prediction.state,
  source: ofParts(sourceOf),
  reviewer: ofDecisions((all) => [...reviewersOf(all)].join("; ")),
  time: ofDecisions((all) => seen(all).map(({ time }) => time).sort().at(-1)),
  decisions: ofDecisions(JSON.stringify),
};

/** Where the answer of a part is from: a file that lent its name, "decision", or empty. */
function sourceOf({ nil, candidates, rejected }, { state }) {
  if (!nil) return candidates[0]?.source;
  const isDecided = state === "accepted" || state === "no concept";
  return isDecided || rejected?.source === "decision" ? "decision" : "";
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
const QUOTED = {
  csv: (cells) => cells.map((text) => (/[",\r\n]/.test(text) ? quoted(text) : text)).join(","),
  tsv: (cells) =>
    cells
      .map((text) => text.replace(/[\t\r\n\0]/g, " "))
      .map((text) => (text.includes('"') ? quoted(text) : text))
      .join("\t"),
};

/** Give a content to the browser as a file to be saved. */
export function save(content, name) {
  const text = { type: "text/plain;charset=utf-8" };
  const blob = content instanceof Blob ? content : new Blob([content], text);
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
