/* The service that a page works with: its model, its key, and who acts: a name, which this browser
   keeps, or which the key says. */

import { getJson, hooks } from "./api.js";
import { forgetConcepts } from "./concept.js";
import { announce, ask, byId, count } from "./elements.js";
import { browser } from "./keeping.js";

const REVIEWER = "linker.reviewer"; // where it is kept

/** Take up what was kept, and keep what is typed. */
export function listenReviewer() {
  byId("reviewer").value = browser.get(REVIEWER) ?? "";
  byId("reviewer").addEventListener("change", (event) => rename(event.target.value));
}

function rename(name) {
  browser.set(REVIEWER, (byId("reviewer").value = name.trim()));
}

/** Show whose the key of the requests is, as the service says it: such a name stays. */
function known({ reviewer: name }) {
  byId("reviewer").readOnly = name !== null;
  if (name !== null) byId("reviewer").value = name;
}

/** The name of who acts, where it is known; else an empty one. */
export const knownReviewer = () => byId("reviewer").value.trim();

/** The name of who acts, asked for where it is not known; null where none was given. */
export async function reviewer() {
  const name = knownReviewer() || (await ask("who"));
  if (!name) announce("Nothing was changed: the name of the reviewer is missing.");
  else if (!byId("reviewer").readOnly) rename(name);
  return name;
}

/** Who acts, as the routes of projects take it: {reviewer}; null as for `reviewer`. */
export async function who() {
  const name = await reviewer();
  return name && { reviewer: name };
}

/** Read what the model is, and whose the key is, and show it; the answer of GET /model. */
export async function readModel() {
  const model = await getJson("model");
  forgetConcepts(); // the model may be another one
  const { sources = [], concepts } = model.dictionary ?? {};
  const words = `${sources.map(nameOf).join(", ")} · ${count(concepts ?? 0)} concepts`;
  Object.assign(byId("model"), { textContent: words, title: sources.map(({ file }) => file).join(", ") });
  known(model);
  return model;
}

/** A file of the dictionary by its name, without what it ends in, and its release. */
function nameOf({ file, release }) {
  const [stem] = file.split(/[-_. ]?\d{4}-\d\d-\d\d|\.[a-z]/i);
  return [stem || file, release].filter(Boolean).join(", ");
}

hooks.waiting = (seconds) => announce(`The service is busy; asking again in ${seconds} s.`);
hooks.askKey = (wrong) => {
  byId("wrong-key").hidden = !wrong;
  return ask("which-key");
};
