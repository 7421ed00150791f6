/* Where reviewers disagree: what each said, to settle it. */

import { getJson } from "./api.js";
import { button, byId, count, fill, make, plural } from "./elements.js";
import { readNames, verdict, whoOf } from "./verdicts.js";

const SHOWN = 200; // rows

/** Show them; `select` is called with the key of a row, and `settle` with a row and one of its
 * decisions, which the others are settled by.
 */
export async function showDisagreements(address, { select, settle }) {
  const { rows } = await getJson(`${address}/disagreements`);
  await readNames(rows);
  const line = (row) => rowOf(row, { select, settle });
  fill(
    byId("disagreements-view"),
    make("h3", rows.length ? `Reviewers disagree on ${plural(rows.length, "row")}` : NONE),
    rows.length > 0 && make("p.note", HOW),
    make("ul.disagreements", rows.slice(0, SHOWN).map(line)),
    rows.length > SHOWN && make("p.note", `and ${plural(rows.length - SHOWN, "more row")}`),
  );
}

const NONE = "Reviewers disagree nowhere.";
const HOW =
  "Whoever takes one settles the row: what the others said before counts no more, until that " +
  "decision is withdrawn. To settle it by another answer, select the row and decide.";

function rowOf(row, { select, settle }) {
  const said = (decision) => {
    const words = [make("strong", verdict(decision)), make("span.note", ` by ${whoOf(decision)}`)];
    const label = `Settle ${row.mention} as ${verdict(decision)}`;
    const act = () => settle(row, decision);
    const take = button("Take this", act, { "aria-label": label });
    return make("li", words, " ", take);
  };
  const name = button(row.mention, () => select(row.key), { class: "name" });
  const times = row.count > 1 && make("span.note", ` ×${count(row.count)}`);
  const attributes = { "data-key": row.key };
  return make("li", attributes, name, times, make("ul", row.decisions.map(said)));
}
