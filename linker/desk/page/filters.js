/* Which rows the queue shows, as the form and the address have it; and accepting all of them. */

import { getJson, postJson } from "./api.js";
import { announce, ask, byId, fill, make, plural } from "./elements.js";
import { wrongOf } from "./overview.js";
import { who } from "./service.js";
import { SearchBox } from "./search.js";
import { isDecided } from "./predictions.js";

const NAMES = ["show", "sort", "below", "type", "q", "under"];
const FIRST = { show: "undecided", sort: "doubt" }; // what is chosen where the address says nothing

export class Filters {
  /** `changed` is called when another filter was chosen. */
  constructor({ address, changed }) {
    Object.assign(this, { address, changed, under: "", underName: "", counting: 0 });
    this.below = ""; // the last confidence that was typed there; what is none is refused
    this.form = byId("filters");
    let typing = null;
    this.form.addEventListener("change", () => this.takeTyped() && this.changed());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", ({ target }) => {
      clearTimeout(typing);
      if (!isConfidence(this.form.elements.below)) return;
      if (target.matches("input"))
        typing = setTimeout(() => this.takeTyped() && this.changed(), 300);
    });
    byId("under").addEventListener("click", () => this.askBranch());
    const choose = (id, name) => this.choose(id, name);
    const found = { about: choose, choose };
    this.search = new SearchBox(byId("branch-query"), byId("branch-found"), found);
    byId("any-branch").addEventListener("click", () => this.choose("", ""));
  }

  /** Take up what an address asks for; what there is to say of it, null for nothing. */
  async takeUp(query) {
    for (const name of NAMES.slice(0, -1)) {
      const value = query.get(name) ?? FIRST[name] ?? "";
      const field = this.form.elements[name];
      if (name === "type" && value) field.add(new Option(value, value));
      field.value = value;
    }
    const { below } = this.form.elements;
    const refused = below.value;
    const isOdd = !isConfidence(below);
    if (isOdd) below.value = "";
    this.takeTyped();
    this.under = query.get("under") ?? "";
    const unknown = this.under && !(await this.nameBranch());
    const problem = `No concept of the dictionary is ${this.under}; what is under it is not asked for.`;
    if (unknown) this.under = "";
    this.showBranch();
    if (unknown) return problem;
    return isOdd ? `${whyNoConfidence(refused)} Rows of any confidence are shown.` : null;
  }

  /** Take up how the concept is called under which rows are shown; whether there is one. */
  async nameBranch() {
    const path = `concepts/${encodeURIComponent(this.under)}`;
    const concept = await getJson(path).catch((error) => {
      if (error.status !== 404) throw error;
      return null; // it is of another dictionary, say
    });
    this.underName = concept?.name ?? "";
    return concept !== null;
  }

  /** Take up what was typed; whether that can be asked for. If not, say why: the rows stay. */
  takeTyped() {
    const { below } = this.form.elements;
    if (!isConfidence(below)) {
      announce(`${whyNoConfidence(below.value)} The rows stay as they were.`);
      return false;
    }
    this.below = confidenceIn(below.value) ?? "";
    return true;
  }

  /** The filter as the queue takes it: only what is chosen. */
  get value() {
    const fields = NAMES.slice(0, -1).map((name) => [name, this.form.elements[name].value.trim()]);
    const all = { ...Object.fromEntries(fields), under: this.under, below: this.below };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
  }

  /** What of the filter differs from the first one, for the address. */
  get forAddress() {
    return Object.entries(this.value).filter(([name, value]) => FIRST[name] !== value);
  }

  /** Whether a row is still one of the filter, as far as decisions and remarks change that. */
  isWanted({ state, bulk, flag }) {
    const decided = isDecided(state);
    const wanted = {
      undecided: !decided,
      decided,
      "in-bulk": bulk,
      flagged: flag,
      disputed: state === "disputed",
    };
    return wanted[this.value.show] ?? true;
  }

  /** Offer the types that a project has. */
  offer({ types }) {
    const { type: field } = this.form.elements;
    const offered = [...field.options].map(({ value }) => value);
    for (const type of types) if (!offered.includes(type)) field.add(new Option(type, type));
    field.closest("label").hidden = types.length < 2 && !field.value;
  }

  askBranch() {
    this.search.clear();
    byId("branch").showModal();
  }

  choose(id, name) {
    Object.assign(this, { under: id, underName: name });
    byId("branch").close();
    this.showBranch();
    this.changed();
  }

  showBranch() {
    byId("under").textContent = this.underName || this.under || "any concept";
  }

  // accepting all

  /** The filter of what is accepted in bulk; null where the confidence is no number. */
  get bulk() {
    const { sort: _, ...filter } = this.value;
    if (!isConfidence(byId("above"))) return null;
    const above = confidenceIn(byId("above").value);
    return above === null ? filter : { ...filter, above };
  }

  /** Say how many answers the button would accept. */
  async count() {
    const filter = this.bulk;
    const number = ++this.counting;
    const query = new URLSearchParams(filter);
    const figures = filter && (await getJson(`${this.address}/accept?${query}`));
    if (number !== this.counting) return null;
    this.figures = figures;
    byId("accept-all").disabled = !figures?.groups;
    const words = figures?.groups
      ? `Accept ${plural(figures.mentions, "mention")}, ${wrongOf(figures.expected_wrong)}`
      : "Nothing to accept";
    fill(byId("accept-all"), words, " ", make("kbd", { "aria-hidden": "true" }, "b"));
    return figures;
  }

  /** Accept all that the filter shows above a confidence, after a question. */
  async acceptAll() {
    const figures = await this.count();
    if (!this.bulk) return announce(whyNoConfidence(byId("above").value));
    if (!figures?.groups) return announce("No undecided answer of this filter is so sure.");
    const above = this.bulk.above === undefined ? "" : ` above ${this.bulk.above}`;
    byId("bulk-words").textContent =
      `Accept the answers${above} of ${plural(figures.mentions, "mention")} in ` +
      `${plural(figures.groups, "row")}? Expected by their confidences: ` +
      `${wrongOf(figures.expected_wrong)}. One Undo takes them all back.`;
    if (!(await ask("bulk"))) return announce("Nothing was accepted.");
    const reviewer = await who();
    if (!reviewer) return undefined;
    const body = { ...reviewer, filter: this.bulk, version: figures.version };
    return postJson(`${this.address}/accept`, body);
  }
}

/** Whether a field is empty or has a confidence; what is none is marked. */
function isConfidence(field) {
  const isOdd = field.value.trim() !== "" && confidenceIn(field.value) === null;
  field.setCustomValidity(isOdd ? whyNoConfidence(field.value) : "");
  return !isOdd;
}

const whyNoConfidence = (typed) =>
  `“${typed.trim()}” is no confidence: type a number from 0 to 1, such as 0.9, or 90 %.`;

/** A confidence as typed: 0.98, 98 % or 0,98; null where it is none. */
function confidenceIn(typed) {
  const [, digits, sign] = /^\s*(\d+(?:[.,]\d*)?|[.,]\d+)\s*(%?)\s*$/.exec(typed) ?? [];
  if (digits === undefined) return null;
  const number = Number(digits.replace(",", "."));
  const share = sign || number > 1 ? number / 100 : number;
  return share <= 1 ? share : null;
}
