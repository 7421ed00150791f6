/* Files that are dropped or chosen. */

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
      "Take a part of it, or link all of it with the command linker link.",
  );
}
