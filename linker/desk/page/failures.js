/* Why mentions have no sure answer: the kinds, with examples and what would help. */

import { getJson } from "./api.js";
import { button, byId, count, fill, make, plural } from "./elements.js";

/** Show them; `select` is called with the key of a row. */
export async function showFailures(address, { select }) {
  const { kinds, left_out: leftOut } = await getJson(`${address}/failures`);
  const total = kinds.reduce((sum, { mentions }) => sum + mentions, 0);
  const without = total === 1 ? "mention has" : "mentions have";
  fill(
    byId("failures-view"),
    make("h3", total ? `${count(total)} undecided ${without} no sure answer` : NONE),
    total > 0 && make("p.note", HOW),
    leftOut > 0 && make("p.note", `Not counted are ${plural(leftOut, "less frequent row")}.`),
    kinds.map((kind) => kindOf(kind, select)),
  );
}

const NONE = "Each undecided mention has a sure answer.";
const HOW =
  "They are sorted by what makes them hard, the most frequent ones first. Select one to see its " +
  "candidates and decide; a decision holds for each place where the mention stands.";

function kindOf({ kind, help, mentions, groups, examples }, select) {
  const row = ({ key, mention, count: times, nearest }) => {
    const near = nearest && `; nearest: ${nearest.name} `;
    const note = [times > 1 && ` ×${count(times)}`, near, nearest && make("code", nearest.concept_id)];
    const name = button(mention, () => select(key), { class: "name" });
    return make("li", { "data-key": key }, name, make("span.note", note));
  };
  const rest = groups - examples.length;
  return [
    make("h4", `${kind}: ${plural(mentions, "mention")} in ${plural(groups, "row")}`),
    make("p.note", `What would help: ${help}.`),
    make("ul.disagreements", examples.map(row)),
    rest > 0 && make("p.note", `and ${plural(rest, "more row")}`),
  ];
}
