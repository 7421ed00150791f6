/* Who decides: a name, which this browser keeps, or which the key of the requests says. */

import { announce, ask, byId } from "./elements.js";
import { browser } from "./keeping.js";

const REVIEWER = "linker.reviewer"; // where the name is kept

/** Take up the name that was kept, and keep what is typed. */
export function listen() {
  byId("reviewer").value = browser.get(REVIEWER) ?? "";
  byId("reviewer").addEventListener("change", (event) => rename(event.target.value));
}

function rename(name) {
  browser.set(REVIEWER, (byId("reviewer").value = name.trim()));
}

/** Show whose the key of the requests is, as the service says it: such a name stays. */
export function known({ reviewer: name, role, may_adjudicate: mayAdjudicate }) {
  const [field, choice] = [byId("reviewer"), document.getElementById("role")];
  field.readOnly = name !== null;
  if (name !== null) field.value = name;
  if (!choice) return;
  choice.disabled = !mayAdjudicate;
  if (!mayAdjudicate || (name !== null && !choice.value)) choice.value = role;
}

/** The name as it stands there. */
export const reviewerNow = () => byId("reviewer").value.trim();

/** The name of who decides, asked for where it is not known; null where none was given. */
export async function reviewer() {
  const name = byId("reviewer").value.trim() || (await ask("who"));
  if (name && !byId("reviewer").readOnly) rename(name);
  else announce("Nothing was changed: the name of the reviewer is missing.");
  return name;
}
