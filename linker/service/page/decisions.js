/* What reviewers decided: shown for a mention and in lists of mentions; and decisions that are made
   and withdrawn here. */

import { postJson, send } from "./api.js";
import { nameOf } from "./concept.js";
import { announce, ask, button, byId, fill, make, plural } from "./elements.js";
import { browser } from "./keeping.js";
import { NO_CONCEPT, scopeOf } from "./session.js";
import { formOf } from "./text.js";

const REVIEWER = "linker.reviewer"; // where the name is kept
const LISTED = 50; // mentions that a list shows

export class Decisions {
  /** `changed` is called with a mention that was decided, `select` with the number of an entry, and
   * `attempt` with what a button does.
   */
  constructor({ changed, select, attempt }) {
    Object.assign(this, { changed, select, attempt });
    this.names = new Map(); // of concepts, by id
    this.made = []; // {ids, mention, words} of what was decided here, which undo takes back
    byId("reviewer").value = browser.get(REVIEWER) ?? "";
    byId("reviewer").addEventListener("change", (event) => this.rename(event.target.value));
  }

  rename(name) {
    browser.set(REVIEWER, (byId("reviewer").value = name.trim()));
  }

  /** The name of who decides, asked for where it is not known; null where none was given. */
  async reviewer() {
    const name = byId("reviewer").value.trim() || (await ask("who"));
    if (name) this.rename(name);
    else announce("Nothing was changed: the name of the reviewer is missing.");
    return name;
  }

  /** Read the names of the concepts that entries were decided to be. */
  async readNames(entries) {
    const ids = new Set(entries.flatMap(({ prediction }) => prediction.decisions.flatMap(idsOf)));
    const unknown = [...ids].filter((id) => !this.names.has(id)).slice(0, LISTED);
    await Promise.all(unknown.map(async (id) => this.names.set(id, await nameOf(id))));
  }

  /** What was decided on an entry, in words. */
  said({ prediction }) {
    const verdicts = prediction.decisions.map((d) => `${this.verdict(d)} by ${whoOf(d)}`);
    return verdicts.join("; ");
  }

  /** Keep a decision on a mention, and say so in words, and which earlier ones it replaces. */
  async make({ mention, ids, accepted, scope }, words) {
    const reviewer = await this.reviewer();
    if (!reviewer) return;
    const decision = { mention, concept_id: joined(ids) || null, accepted, scope, reviewer };
    const { decisions, replaced } = await postJson("decisions", { decisions: [decision] });
    const made = { ids: decisions.map(({ id }) => id), mention, words };
    this.made.push(made);
    await this.changed(mention);
    if (!replaced.length) return announce(words);
    const said = replaced.map((d) => this.sentenceToItsReviewer(d)).join(" and ");
    const undo = button("Undo", () => this.attempt(() => this.takeBack(made)));
    return announce(make("span.notice", `${words} ${said}; this replaces it. `, undo));
  }

  /** Take back what was decided last on this page. */
  undo() {
    const last = this.made.at(-1);
    if (!last) return announce("There is nothing to undo.");
    return this.takeBack(last);
  }

  takeBack({ ids, mention, words }) {
    return this.withdraw(ids, mention, `Taken back: ${words}`);
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
  show(entry) {
    const row = (decision) => {
      const { id, mention } = decision;
      const label = `Withdraw ${this.verdict(decision)} of ${whoOf(decision)} for ${mention}`;
      const withdraw = () => this.withdraw([id], mention, "The decision was withdrawn.");
      const attributes = { "aria-label": label };
      const act = () => this.attempt(withdraw);
      return [this.sentence(decision), " ", button("Withdraw", act, attributes)];
    };
    const { state, decisions: shown = [] } = entry?.prediction ?? {};
    fill(
      byId("decisions"),
      state === "disputed" && make("p.conflict", DISAGREE),
      shown.length > 0 && make("h3", "Decisions"),
      shown.length > 0 && make("ul", shown.map((decision) => make("li", row(decision)))),
    );
  }

  /** List the mentions on which reviewers disagree, and those that are decided. */
  list(entries) {
    const numbered = entries.map((entry, number) => ({ entry, number }));
    const reviewed = distinct(numbered.filter(({ entry }) => entry.prediction.decisions.length));
    const isDisputed = ({ entry }) => entry.prediction.state === "disputed";
    const conflicts = reviewed.filter(isDisputed);
    const decided = reviewed.filter((item) => !isDisputed(item));
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
    const row = ({ entry: { prediction }, number }) =>
      make(
        "li",
        button(prediction.mention, () => this.select(number), { class: "name" }),
        make("span.note", ` ${prediction.state}`),
        make("ul", prediction.decisions.map((decision) => make("li", this.sentence(decision)))),
      );
    return [
      numbered.slice(0, LISTED).map(row),
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

  /** What a reviewer said earlier, to the same one. */
  sentenceToItsReviewer(decision) {
    const when = decision.time ? ` on ${decision.time.slice(0, 10)}` : "";
    return `You ${decision.accepted ? "accepted" : "rejected"} ${this.concepts(decision)}${when}`;
  }

  verdict(decision) {
    return (decision.accepted ? "" : "not ") + this.concepts(decision);
  }

  concepts(decision) {
    const named = (id) => `${this.names.get(id) ?? ""} ${id}`.trim();
    const inWords = (part) => part.map(named).join(" with ") || "no concept";
    return partsOf(decision.concept_id).map(inWords).join(" and ") || "no concept";
  }
}

/* As linker/ids.py writes them: a backslash stands before a sign that is part of an id. */
const joined = (ids) =>
  ids.map((id) => (id === NO_CONCEPT ? id : id.replace(/[\\|,;]|^\+|\+(?!$)/g, "\\$&"))).join("|");
const partsOf = (text) =>
  (text?.match(/(?:\\.|[^|\\])+/g) ?? []).map((part) =>
    part === NO_CONCEPT
      ? []
      : part.match(/(?:\\.|\+$|[^+\\])+/g).map((id) => id.replace(/\\(.)/g, "$1")),
  );
const idsOf = ({ concept_id: ids }) => partsOf(ids).flat();
const whoOf = ({ reviewer }) => reviewer || "nobody named";

/** The first of the entries with the same mention and scope. */
function distinct(numbered) {
  const key = ({ entry }) => JSON.stringify([formOf(entry.prediction.mention), scopeOf(entry)]);
  return [...new Map(numbered.toReversed().map((item) => [key(item), item])).values()].reverse();
}

const DISAGREE =
  "Reviewers disagree on this mention. Until they agree, the answer is that of the model.";
