/* Who acts: a name, which this browser keeps, or which the key of the requests says. */

import { announce, ask, byId } from "./elements.js";
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
export function known({ reviewer: name }) {
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
