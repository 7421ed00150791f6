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
  const names = sources.map((source) => [source.file, source.release].filter(Boolean).join(" "));
  byId("model").textContent = `${names.join(", ")} · ${count(concepts ?? 0)} concepts`;
  byId("no-decisions").hidden = model.decisions;
  known(model);
  return model;
}

hooks.waiting = (seconds) => announce(`The service is busy; asking again in ${seconds} s.`);
hooks.askKey = (wrong) => {
  byId("wrong-key").hidden = !wrong;
  return ask("which-key");
};
