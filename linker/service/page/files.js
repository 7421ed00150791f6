/* Files: dropped or chosen ones are parsed by the service; results are saved as files. */

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
 * `content` is a File or a text.
 */
export async function parse(content, name, column) {
  const query = new URLSearchParams(column ? { name, column } : { name });
  const request = { method: "POST", body: content, type: "application/octet-stream" };
  const parsed = await getJson(`parse?${query}`, request);
  if (parsed.columns) {
    const chosen = await askColumn(name, parsed.columns);
    return chosen && parse(content, name, chosen);
  }
  if (parsed.documents) return parsed.documents.map((document) => ({ document }));
  return parsed.mentions.map(({ row, ...mention }) => asSource(mention));
}

/** A loose mention as a source of a session. */
export const asSource = (mention) => ({
  mention: typeof mention === "string" ? { text: mention } : mention,
});

async function askColumn(file, columns) {
  fill(byId("column-title"), `Which column of ${file} has the names?`);
  const names = columns.map(({ name }) => make("option", { value: name }, name || "(no name)"));
  fill(byId("column"), names);
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

/** Give a text to the browser as a file to be saved. */
export function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
