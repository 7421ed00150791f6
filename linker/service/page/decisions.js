/* Decisions: made, shown with those of other reviewers, withdrawn. */

import { getJson, postJson, send } from "./api.js";
import { announce, ask, button, byId, fill, make } from "./elements.js";

const REVIEWER = "linker.reviewer"; // where the name is kept

export class Decisions {
  /** `changed` is called with a mention whose decisions changed. */
  constructor(changed) {
    this.changed = changed;
    this.made = []; // {ids, mention, words} of what was decided here, which undo takes back
    this.wanted = 0; // number of the latest mention whose decisions were asked for
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
    return name;
  }

  /** Keep a decision on a mention, and say so in words. */
  async make(mention, { ids = [], accepted = true, scope = "" }, words) {
    const reviewer = await this.reviewer();
    if (!reviewer) return announce("Nothing was decided: the name of the reviewer is missing.");
    const decision = { mention, concept_id: ids.join("|") || null, accepted, scope, reviewer };
    const { decisions } = await postJson("decisions", { decisions: [decision] });
    this.made.push({ ids: decisions.map(({ id }) => id), mention, words });
    await this.changed(mention);
    announce(words);
  }

  /** Take back what was decided last on this page. */
  async undo() {
    const last = this.made.at(-1);
    if (!last) return announce("There is nothing to undo.");
    for (const id of last.ids) await send(`decisions/${id}`, { method: "DELETE" });
    this.made.pop();
    await this.changed(last.mention);
    announce(`Taken back: ${last.words}`);
  }

  async withdraw({ id, mention }) {
    await send(`decisions/${id}`, { method: "DELETE" });
    this.made = this.made.filter(({ ids }) => !ids.includes(id));
    await this.changed(mention);
    announce("The decision was withdrawn.");
  }

  /** Show the decisions on a mention that count where it stands, and who disagrees. */
  async show(mention, scope, attempt) {
    const number = ++this.wanted;
    const query = new URLSearchParams({ mention });
    const { decisions, conflicts } = await getJson(`decisions?${query}`);
    if (number !== this.wanted) return;
    const here = (decision) => !decision.scope || decision.scope === scope;
    const row = (decision) => this.row(decision, () => attempt(() => this.withdraw(decision)));
    const shown = decisions.filter(here);
    fill(
      byId("decisions"),
      conflicts.filter(here).length > 0 && make("p.conflict", DISAGREE),
      shown.length > 0 && make("h3", "Decisions"),
      shown.length > 0 && make("ul", shown.map(row)),
    );
  }

  row(decision, withdraw) {
    const { mention, concept_id: concept, accepted, scope, reviewer, time } = decision;
    const verdict = `${accepted ? "" : "not "}${concept || "no concept"}`;
    const when = time ? `, ${time.slice(0, 16).replace("T", " ")}` : "";
    const where = scope ? `in document ${scope}` : "everywhere";
    const who = make("span.note", ` by ${reviewer || "nobody named"}${when}, ${where} `);
    const label = { "aria-label": `Withdraw ${verdict} of ${reviewer} for ${mention}` };
    return make("li", make("strong", verdict), who, button("Withdraw", withdraw, label));
  }
}

const DISAGREE =
  "Reviewers disagree on this mention. Until they agree, the answer is that of the model.";
