/* What a new release of the dictionary changes of decisions, to be accepted one by one or by kind. */

import { getJson } from "./api.js";
import { button, byId, count, fill, make, plural } from "./elements.js";
import { markOf } from "./predictions.js";
import { whoOf } from "./verdicts.js";

const SHOWN = 100; // rows of a kind that are not folded away

/** Show it; `accept` is called with what the service is to be asked for, and with the question
 * before that, if there is one.
 */
export async function showRelease(_, { accept }) {
  const { current, kinds, changes } = await getJson("decisions/changes");
  // what can be accepted comes first
  const there = kinds.filter((kind) => kind.count).sort((a, b) => b.acceptable - a.acceptable);
  const kindOf = (kind) => shownKind(kind, changes.filter((c) => c.kind === kind.kind), accept);
  const unfolded = [...byId("release-view").querySelectorAll("details[open]")];
  const names = new Set(unfolded.map((details) => details.dataset.list));
  fill(
    byId("release-view"),
    make("h3", `The new release changes ${plural(changes.length, "decision")}`),
    make("p.note", `Decisions that stay as they are: ${count(current)}. ${HOW}`),
    there.map(kindOf),
  );
  for (const details of byId("release-view").querySelectorAll("details"))
    details.open = names.has(details.dataset.list);
}

const HOW =
  "These are decisions of all projects. Nothing is changed until you accept it; what has no button here you " +
  "can decide anew in the queue. Short forms, names of several concepts, decisions that hold in one " +
  "document, and those on which reviewers disagree, are accepted one by one.";

function shownKind({ kind, words, count: number, acceptable }, changes, accept) {
  const question =
    `Accept the new concepts of ${plural(acceptable, "decision")} (${kind}) without looking at each? ` +
    "They take the place of what was decided. One Undo takes them all back.";
  const act = () => accept({ accept: [kind], count: acceptable }, question);
  const together = changes.filter((change) => !change.one_by_one);
  const apart = changes.filter((change) => change.one_by_one);
  return [
    make("h4", `${kind}: ${plural(number, "decision")}`),
    make("p.note", `${words}.`),
    acceptable > 0 && make("p", button(`Accept all ${count(acceptable)} (${kind})`, act)),
    listOf(kind, together, accept),
    apart.length > 0 && make("h5", `One by one: ${plural(apart.length, "decision")}`),
    listOf(`${kind}, one by one`, apart, accept),
  ];
}

/** The rows of some changes; many are folded away, under a name by which they stay unfolded. */
function listOf(name, changes, accept) {
  const list = (some) => make("ul.disagreements", some.map((change) => rowOf(change, accept)));
  const rest = changes.slice(SHOWN);
  return [
    changes.length > 0 && list(changes.slice(0, SHOWN)),
    rest.length > 0 && folded(name, plural(rest.length, "more row"), list(rest)),
  ];
}

const folded = (name, words, list) =>
  make("details", { "data-list": name }, make("summary", words), list);

function rowOf({ id, mention, scope, reviewer, accepted, predicate, ...change }, accept) {
  const by = ` by ${whoOf({ reviewer })}${scope && `, in document ${scope}`} `;
  const label = `Accept ${change.now[0]?.name} for ${mention}`;
  const take = button("Accept", () => accept({ accept: [id] }), { "aria-label": label });
  const old = [!accepted && "not ", conceptsOf(change.before, "no concept"), markOf(predicate)];
  const now = conceptsOf(change.now, "nothing");
  const title = [make("strong", make("bdi", mention)), make("span.note", by)];
  const why = change.one_by_one && make("p.note", `${change.one_by_one}.`);
  // decisions have other numbers than rows, whose keys other lists have
  const attributes = { "data-key": `change ${id}`, "data-change": id, tabindex: "-1" };
  return make(
    "li",
    attributes,
    title,
    change.acceptable && take,
    make("div", old, " → ", now),
    why,
  );
}

function conceptsOf(concepts, none) {
  const shown = ({ concept_id: id, name }, place) => [place > 0 && ", ", `${name} `, make("code", id)];
  return concepts.length ? concepts.map(shown) : none;
}
