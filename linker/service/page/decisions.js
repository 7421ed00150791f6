/* What reviewers decided: read from the service, shown for a mention and in lists of mentions;
   and decisions that are made and withdrawn here. */

import { getJson, postJson, send } from "./api.js";
import { nameOf } from "./concept.js";
import { announce, ask, button, byId, fill, make, plural } from "./elements.js";
import { NO_CONCEPT, scopeOf } from "./session.js";
import { formOf } from "./text.js";

const REVIEWER = "linker.reviewer"; // where the name is kept
const LISTED = 50; // mentions that a list shows

export class Decisions {
  /** `changed` is called with a mention that was decided, `select` with the number of an entry. */
  constructor({ changed, select }) {
    Object.assign(this, { changed, select });
    this.known = new Map(); // {decisions, conflicts} of each form of a mention
    this.names = new Map(); // of concepts, by id
    this.made = []; // {ids, mention, words} of what was decided here, which undo takes back
    byId("reviewer").value = localStorage.getItem(REVIEWER) ?? "";
    byId("reviewer").addEventListener("change", (event) => this.rename(event.target.value));
  }

  rename(name) {
    localStorage.setItem(REVIEWER, (byId("reviewer").value = name.trim()));
  }

  /** The name of who decides, asked for where it is not known; null where none was given. */
  async reviewer() {
    const name = byId("reviewer").value.trim() || (await ask("who"));
    if (name) this.rename(name);
    else announce("Nothing was changed: the name of the reviewer is missing.");
    return name;
  }

  /** Read what is in force now, and the names of the concepts that entries were decided to be. */
  async load(entries) {
    const read = await getJson("decisions");
    this.known = new Map();
    for (const kind of ["decisions", "conflicts"])
      for (const record of read[kind]) {
        const form = formOf(record.mention);
        if (!this.known.has(form)) this.known.set(form, { decisions: [], conflicts: [] });
        this.known.get(form)[kind].push(record);
      }
    const forms = new Set(entries.map(({ prediction }) => formOf(prediction.mention)));
    const shown = [...forms].flatMap((form) => this.known.get(form)?.decisions ?? []);
    const ids = [...new Set(shown.flatMap(idsOf))].slice(0, LISTED);
    await Promise.all(ids.map(async (id) => this.names.set(id, await nameOf(id))));
  }

  /** An entry, with the decisions that count where it stands, and whether reviewers disagree. */
  added(entry) {
    const { decisions, conflicts } = this.known.get(formOf(entry.prediction.mention)) ?? NONE;
    const here = ({ scope }) => !scope || scope === scopeOf(entry);
    const disagree = entry.prediction.source !== "decision" && conflicts.some(here);
    const inForce = decisions.filter(here);
    const said = inForce.map((decision) => `${this.verdict(decision)} by ${whoOf(decision)}`);
    return { ...entry, decisions: inForce, disagree, said: said.join("; ") };
  }

  /** Keep a decision on a mention, and say so in words. */
  async make(mention, { ids = [], accepted = true, scope = "" }, words) {
    const reviewer = await this.reviewer();
    if (!reviewer) return;
    const decision = { mention, concept_id: ids.join("|") || null, accepted, scope, reviewer };
    const { decisions } = await postJson("decisions", { decisions: [decision] });
    this.made.push({ ids: decisions.map(({ id }) => id), mention, words });
    await this.changed(mention);
    announce(words);
  }

  /** Take back what was decided last on this page. */
  undo() {
    const last = this.made.at(-1);
    if (!last) return announce("There is nothing to undo.");
    return this.withdraw(last.ids, last.mention, `Taken back: ${last.words}`);
  }

  async withdraw(ids, mention, words) {
    const reviewer = await this.reviewer();
    if (!reviewer) return;
    for (const id of ids)
      try {
        await send(`decisions/${id}?${new URLSearchParams({ reviewer })}`, { method: "DELETE" });
      } catch (error) {
        if (error.status !== 404) throw error; // 404: somebody else withdrew it
      }
    this.made = this.made.filter((made) => !made.ids.some((id) => ids.includes(id)));
    await this.changed(mention);
    announce(words);
  }

  /** Show the decisions on an entry, each of which can be withdrawn. */
  show(entry, attempt) {
    const row = (decision) => {
      const { id, mention } = decision;
      const label = `Withdraw ${this.verdict(decision)} of ${whoOf(decision)} for ${mention}`;
      const withdraw = () => this.withdraw([id], mention, "The decision was withdrawn.");
      const attributes = { "aria-label": label };
      const act = () => attempt(withdraw);
      return [this.sentence(decision), " ", button("Withdraw", act, attributes)];
    };
    const shown = entry?.decisions ?? [];
    fill(
      byId("decisions"),
      entry?.disagree && make("p.conflict", DISAGREE),
      shown.length > 0 && make("h3", "Decisions"),
      shown.length > 0 && make("ul", shown.map((decision) => make("li", row(decision)))),
    );
  }

  /** List the mentions on which reviewers disagree, and those that are decided. */
  list(entries) {
    const numbered = entries.map((entry, number) => ({ entry, number }));
    const conflicts = distinct(numbered.filter(({ entry }) => entry.disagree));
    const decided = distinct(
      numbered.filter(({ entry }) => entry.decisions.length && !entry.disagree),
    );
    const mentions = plural(conflicts.length, "mention");
    fill(byId("conflicts-title"), `Reviewers disagree on ${mentions}`);
    fill(byId("conflict-list"), this.rows(conflicts));
    byId("conflicts").hidden = !conflicts.length;
    fill(byId("decided-title"), `${plural(decided.length, "decided mention")}`);
    fill(byId("decided-list"), this.rows(decided));
    byId("decided").hidden = !decided.length;
  }

  rows(numbered) {
    const rest = numbered.length - LISTED;
    return [
      numbered.slice(0, LISTED).map(({ entry, number }) =>
        make(
          "li",
          button(entry.prediction.mention, () => this.select(number), { class: "name" }),
          make("ul", entry.decisions.map((decision) => make("li", this.sentence(decision)))),
        ),
      ),
      rest > 0 && make("li.note", `and ${plural(rest, "more mention")}`),
    ];
  }

  /** What was decided, by whom, when and where. */
  sentence(decision) {
    const { scope, time } = decision;
    const when = time ? `, ${time.slice(0, 16).replace("T", " ")} UTC` : "";
    const where = scope ? `in document ${scope}` : "everywhere";
    const facts = ` by ${whoOf(decision)}${when}, ${where}`;
    return [make("strong", this.verdict(decision)), make("span.note", facts)];
  }

  verdict(decision) {
    const named = (id) => `${this.names.get(id) ?? ""} ${id}`.trim();
    const inWords = (part) =>
      part && part !== NO_CONCEPT ? part.split("+").map(named).join(" with ") : "no concept";
    const what = (decision.concept_id ?? "").split("|").map(inWords).join(" and ");
    return decision.accepted ? what : `not ${what}`;
  }
}

const NONE = { decisions: [], conflicts: [] };
const idsOf = ({ concept_id: ids }) =>
  (ids ?? "").split(/[|+]/).filter((id) => id && id !== NO_CONCEPT);
const whoOf = ({ reviewer }) => reviewer || "nobody named";

/** The first of the entries with the same mention and scope. */
function distinct(numbered) {
  const key = ({ entry }) => JSON.stringify([formOf(entry.prediction.mention), scopeOf(entry)]);
  return [...new Map(numbered.toReversed().map((item) => [key(item), item])).values()].reverse();
}

const DISAGREE =
  "Reviewers disagree on this mention. Until they agree, the answer is that of the model.";
