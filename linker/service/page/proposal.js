/* New terms: a form to propose one for the mention that is shown, and what was proposed for it. */

import { getJson, postJson, send } from "./api.js";
import { save } from "./downloads.js";
import { announce, attempt, button, byId, fill, make, plural } from "./elements.js";
import { reviewer } from "./reviewer.js";
import { SearchBox } from "./search.js";
import { formOf } from "./text.js";

const FIELDS = {
  label: ["Label", "input", { required: true, maxlength: 1_000 }],
  definition: ["Definition", "textarea", { rows: 2, maxlength: 10_000 }],
  synonyms: ["Synonyms, one a line", "textarea", { rows: 2 }],
  note: ["Note", "input", { maxlength: 10_000 }],
};

export class Proposals {
  constructor() {
    this.mention = null;
    this.forms = new Map(); // by their mentions, so that what was typed stays
    byId("propose").addEventListener("toggle", () => attempt(() => this.draw()));
  }

  /** Offer to propose a term for a mention; null: for none. */
  show(mention) {
    byId("propose").hidden = mention === null;
    if (mention === this.mention) return;
    this.mention = mention;
    attempt(() => this.draw());
  }

  /** Open the form, and go to its first field. */
  open() {
    if (byId("propose").open) return this.toForm();
    this.isAsked = true;
    byId("propose").open = true; // which draws it
    return undefined;
  }

  toForm() {
    const { label } = this.forms.get(this.mention).elements;
    label.select();
    label.scrollIntoView({ block: "center" });
  }

  /** Show the form and the proposals, where they are open. */
  async draw() {
    const { mention } = this;
    if (!byId("propose").open || mention === null) return fill(byId("propose-body"));
    if (!this.forms.has(mention)) this.forms.set(mention, this.formFor(mention));
    const list = make("div.proposed");
    fill(byId("propose-body"), this.forms.get(mention), list);
    if (this.isAsked) this.toForm();
    this.isAsked = false;
    const { proposals } = await getJson("proposals");
    const same = proposals.filter((proposal) => formOf(proposal.mention) === formOf(mention));
    return fill(
      list,
      same.length > 0 && make("ul", same.map((proposal) => this.row(proposal))),
      proposals.length > 0 && button(`Download ${plural(proposals.length, "proposal")}`, saveAll),
    );
  }

  formFor(mention) {
    const field = ([name, [title, tag, attributes]]) =>
      make("label", title, make(tag, { name, autocomplete: "off", ...attributes }));
    const parent = parentField();
    const onsubmit = (event) => {
      event.preventDefault();
      attempt(() => this.propose(form, mention));
    };
    const form = make(
      "form.proposal",
      { onsubmit },
      Object.entries(FIELDS).slice(0, 2).map(field),
      parent,
      Object.entries(FIELDS).slice(2).map(field),
      make("button.main", "Propose"),
    );
    form.elements.label.value = mention;
    return form;
  }

  async propose(form, mention) {
    const who = await reviewer();
    if (!who) return;
    const { synonyms, ...texts } = Object.fromEntries(new FormData(form));
    const names = synonyms.split("\n").filter((text) => text.trim());
    const proposal = { ...texts, synonyms: names, mention, reviewer: who };
    const { label } = await postJson("proposals", proposal);
    this.forms.delete(mention);
    await this.draw();
    byId("propose").querySelector("summary").focus();
    announce(`Proposed: ${label}.`);
  }

  row({ id, label, parent, definition, reviewer: by }) {
    const act = () => attempt(() => this.withdraw(id, label));
    const facts = [parent && `below ${parent}`, by && `by ${by}`].filter(Boolean).join(", ");
    return make(
      "li",
      make("strong", label),
      make("span.note", ` ${facts} `),
      button("Withdraw", act, { "aria-label": `Withdraw the proposal ${label}` }),
      definition && make("p.note", definition),
    );
  }

  async withdraw(id, label) {
    const who = await reviewer();
    if (!who) return;
    const query = new URLSearchParams({ reviewer: who });
    await send(`proposals/${id}?${query}`, { method: "DELETE" });
    await this.draw();
    announce(`Withdrawn: ${label}.`);
  }
}

const saveAll = () =>
  attempt(async () => {
    save(await (await send("proposals/export")).blob(), "proposals.tsv");
    announce("Saved as proposals.tsv.");
  });

/** The field of the parent, which is found by a search. */
function parentField() {
  const [chosen, found] = [make("p.note"), make("ol.candidates")];
  const parent = make("input", { type: "hidden", name: "parent" });
  const attributes = { type: "search", autocomplete: "off", placeholder: "search the dictionary" };
  const query = make("input", attributes);
  const take = (id, ...shown) => {
    parent.value = id;
    query.focus();
    search.clear();
    fill(chosen, shown);
  };
  const remove = button("Remove", () => take(""), { "aria-label": "Remove the parent" });
  const choose = (id, name) => take(id, `Below ${name} `, make("code", id), " ", remove);
  const search = new SearchBox(query, found, { about: choose, choose });
  return make("div", make("label", "Parent", query), parent, chosen, found);
}
