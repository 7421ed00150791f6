/* The model that the service links with, and what requests need of a page. */

import { getJson, hooks } from "./api.js";
import { forgetConcepts } from "./concept.js";
import { announce, ask, byId, count } from "./elements.js";
import { known } from "./reviewer.js";

/** Read what the model is, and whose the key is, and show it; the answer of GET /model. */
export async function readModel() {
  const model = await getJson("model");
  forgetConcepts(); // the model may be another one
  const { sources = [], concepts } = model.dictionary ?? {};
  const words = `${sources.map(nameOf).join(", ")} · ${count(concepts ?? 0)} concepts`;
  Object.assign(byId("model"), { textContent: words, title: sources.map(({ file }) => file).join(", ") });
  byId("no-decisions").hidden = model.decisions;
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
