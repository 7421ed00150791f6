/* Files that are dropped or chosen: the service parses them. */

import { getJson, send } from "./api.js";
import { ask, byId, count, fill, make } from "./elements.js";

/** Listen for files; `take` is called with those that are dropped or chosen together. */
export function listen(take) {
  byId("file").addEventListener("change", ({ target }) => {
    if (target.files.length) take([...target.files]);
    target.value = ""; // so that the same file can be chosen again
  });
  const holdsFile = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (event, inside) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", inside);
  };
  document.addEventListener("dragover", (event) => mark(event, true));
  document.addEventListener("dragleave", (event) => mark(event, event.relatedTarget !== null));
  document.addEventListener("drop", (event) => {
    mark(event, false);
    if (holdsFile(event)) take([...event.dataTransfer.files]);
  });
}

/** The documents or mentions of a file, as sources of a session; null where no column was chosen.
 *
 * `file` is {name, content, column}; a column that is chosen is put into it, and `tooLong`: how many
 * cells of it were left out.
 */
export async function parse(file) {
  const { name, content, column } = file;
  const query = new URLSearchParams(column ? { name, column } : { name });
  const request = { method: "POST", body: content, type: "application/octet-stream" };
  const parsed = await getJson(`parse?${query}`, request);
  if (parsed.columns) {
    file.column = await askColumn(name, parsed);
    return file.column && parse(file);
  }
  file.tooLong = parsed.too_long ?? 0;
  if (parsed.documents) return parsed.documents.map((document) => ({ document }));
  file.column = parsed.column; // also one that the service took by its name
  const inTable = Boolean(parsed.column);
  return parsed.mentions.map(({ row: _, ...mention }) => ({ mention, inTable }));
}

/** Ask for a column of a table; `columns` are {name, samples}, or names. */
export async function askColumn(file, { columns, suggested }) {
  fill(byId("column-title"), `Which column of ${file} has the names?`);
  const row = (column) => {
    const { name, samples = [] } = column.name === undefined ? { name: column } : column;
    const [checked, disabled] = [name === suggested, !name];
    const choice = { type: "radio", name: "value", value: name, required: true, checked, disabled };
    if (checked) choice.autofocus = true; // which brings it into sight
    const shown = samples.length > 0 && make("span.facts", samples.join(" · "));
    return make("label", make("input", choice), make("span", name || "(no name)", shown));
  };
  fill(byId("columns"), columns.map(row));
  return ask("which-column");
}

/** Refuse what the service would refuse for its size, before it is sent. */
export function checkSize(bytes, limits) {
  const most = limits?.body;
  if (!most || bytes <= most) return;
  const megabytes = (number) => `${count(Math.round(number / 1e5) / 10)} MB`;
  throw new Error(
    `That has ${megabytes(bytes)}; the service takes ${megabytes(most)} at once. ` +
      "Link a part of it here, or all of it with the command linker link.",
  );
}
