/* The files that are saved: a table, or a list of names, with its answers, or a format of the
   service. */

import { send } from "./api.js";
import { make } from "./elements.js";

const ENDINGS = { sssom: "sssom.tsv", pubtator: "pubtator.txt" };

/** Save a session in a format, and tell the names of the files; `entries` are its mentions. */
export async function download(session, entries, format) {
  const files = [];
  if (format === "table")
    for (const table of session.tables) files.push([await withAnswers(table), nameOf(table)]);
  else if (format === "csv") files.push([await withAnswers(tableOf(entries)), "linked.csv"]);
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

/** Names as a table, a row for each. */
const tableOf = (entries) => ({
  content: ["mention", ...entries.map(({ prediction }) => quoted(prediction.mention))].join("\n"),
  name: "linked.csv",
  column: "mention",
});

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/** Give a content to the browser as a file to be saved. */
export function save(content, name) {
  const text = { type: "text/plain;charset=utf-8" };
  const blob = content instanceof Blob ? content : new Blob([content], text);
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
