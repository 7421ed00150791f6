/* The panel of the answer: what is shown for the selected mention, and what can be done with it. */

import { AnswerView } from "./answer.js";
import { postJson } from "./api.js";
import { showConcept } from "./concept.js";
import { announce, attempt, byId, fill, make, plural } from "./elements.js";
import { showReasons } from "./reasons.js";
import { SearchBox } from "./search.js";
import { DOUBTFUL, KINDS, MOST, NO_CONCEPT, answersOf, isSame } from "./predictions.js";
import { longForm, markOf, scopeOf } from "./predictions.js";
import { disputants, partsInWords, showDecisions } from "./verdicts.js";

export class Panel {
  /** `page` has {act, decide, withdraw}: `act` is called with what a button does, `decide` with an
   * entry, a decision {ids, parts, accepted, predicate, asWritten, isHere, settles} on it, of whose ids null
   * is a part that is left as it is, and the decision in words; `withdraw` with a decision. A page without
   * `decide` shows answers alone.
   */
  constructor(page) {
    this.page = page;
    this.isCleared = false; // whether what was typed is gone already for what is shown next
    const about = (id) => this.about(id);
    const deciding = page.decide && {
      choose: (id, place) => this.onShown(() => this.choose(id, place)),
      chooseBroader: (id) => this.onShown(() => (chooseKind("broad"), this.choose(id))),
      chooseReading: (ids, parts) =>
        this.onShown(() => this.decide({ ids, parts, asWritten: true })),
      reject: (id) => this.onShown(() => this.reject(id)),
      use: () => this.showDeciding(this.entry),
    };
    this.actionsOfConcepts = { about, ...deciding };
    this.view = new AnswerView({ ...this.actionsOfConcepts, more: () => attempt(() => this.more()) });
    this.search = new SearchBox(byId("query"), byId("found"), {
      about,
      // what is found is for the selected row
      choose: page.decide ? (id) => page.act(() => this.choose(id)) : about,
    });
    this.listen();
  }

  listen() {
    offerKinds();
    const on = (id, event, listener) => byId(id).addEventListener(event, listener);
    if (this.page.decide)
      for (const name of ["accept", "reject", "none"])
        on(name, "click", () => this.page.act(this.deciding[name]));
    on("reasons", "toggle", async ({ target }) => {
      if (target.open && this.entry && !byId("reasons-body").hasChildNodes())
        await showReasons(this.entry);
      if (target.open) target.scrollIntoView({ block: "nearest" });
    });
  }

  /** The entry that is shown. */
  get entry() {
    return this.view.entry;
  }

  /** What keys and buttons decide. */
  deciding = {
    accept: () => {
      const why = this.entry && whyNotAccept(this.entry.prediction, this.view.part);
      return why ? announce(why) : this.choose(this.view.best?.concept_id);
    },
    reject: () =>
      this.view.best
        ? this.reject(this.view.best.concept_id)
        : announce("There is no concept to reject."),
    none: () => (this.entry ? this.choose() : announce("Select a mention first.")),
    choose: (number) => {
      const offer = this.view.offered(Number(number));
      if (offer) return this.choose(offer.concept_id);
      return announce(`There is no candidate ${number}.`, !this.view.isLong && " Press m for more.");
    },
    kind: nextKind,
  };

  /** What other keys of the panel do. */
  actions = {
    more: () =>
      byId("more") ? attempt(() => this.more()) : announce("There are no more candidates."),
    part: () => this.view.nextPart()?.focus(),
    search: () => byId("query").select(),
    explain: () => byId("reasons").querySelector("summary").click(),
  };

  /** Show an entry, the n-th of so many. */
  show(entry, number, total) {
    if (!isSame(entry, this.entry)) {
      this.leave();
      this.toTop();
    }
    this.isCleared = false;
    this.view.show(entry, number, total);
    if (this.page.decide) this.showDeciding(entry);
    this.about(this.view.offered(1)?.concept_id);
    if (byId("reasons").open && entry) showReasons(entry);
    showDecisions(entry?.prediction, this.page.withdraw);
  }

  /** Show what can be decided: what Accept would accept, and whether that is likely to be right. Of
   * several parts it is that of the part in use.
   */
  showDeciding(entry) {
    const prediction = entry?.prediction;
    const { part } = this.view;
    for (const id of ["accept", "reject", "none"]) byId(id).disabled = !entry;
    byId("in-document").disabled = !entry || !scopeOf(entry);
    if (byId("in-document").disabled) byId("scope").value = "";
    const why = prediction && whyNotAccept(prediction, part);
    const isNone = prediction && !why && !this.view.best;
    const isDoubtful = prediction && !isNone && (prediction.parts[part].confidence ?? 1) < DOUBTFUL;
    const of = prediction?.parts.length > 1 ? `part ${part + 1} ` : "";
    const key = (name) => make("kbd", { "aria-hidden": "true" }, name);
    const none = of ? "as “no concept” " : "“no concept” ";
    fill(byId("accept"), `Accept ${of}${isNone ? none : ""}`, key("a"));
    fill(byId("reject"), `Reject ${of && `in ${of}`}`, key("r"));
    fill(byId("none"), `No concept ${of && `in ${of}`}`, key("n"));
    byId("accept").classList.toggle("main", !isDoubtful);
    byId("accept").disabled ||= Boolean(why);
    byId("accept").title = why ?? "";
  }

  /** Empty what was typed, since another mention was selected; what is typed from now on is for
   * that one, though it may be shown only later.
   */
  clear() {
    this.search.clear();
    chooseKind();
    this.isCleared = true;
  }

  /** Begin the panel at its top, where it stands beside the mentions. */
  toTop() {
    byId("answer").closest(".panel").scrollTop = 0;
  }

  /** Empty what belongs to the mention that was shown, and drop the answers that are to come. */
  leave() {
    if (!this.isCleared) this.clear();
    fill(byId("concept"));
    showReasons(null);
    announce("");
  }

  /** Do what a button of a concept does that is shown, unless that is gone with its row by then. */
  onShown(action) {
    const { entry } = this;
    return this.page.act(() =>
      isSame(entry, this.entry) ? action() : announce("Nothing was done: another row was selected."),
    );
  }

  about(id) {
    const answers = this.entry ? answersOf(this.entry.prediction) : [];
    const isAnswer = answers.some((answer) => answer?.concept_id === id);
    const whyNot = isAnswer ? null : (other) => this.whyNot(other);
    showConcept(id, { ...this.actionsOfConcepts, whyNot });
  }

  whyNot(id) {
    if (!this.entry) return announce("Select a mention first.");
    byId("reasons").open = true;
    showReasons(this.entry, id);
    return byId("reasons").scrollIntoView({ block: "nearest" });
  }

  /** Choose a concept, or none, for a part; other parts stay as they are. */
  choose(id, place) {
    if (!this.entry) return announce("Select a mention first.");
    return this.decide({ ids: this.view.idsWith(id, place) });
  }

  reject(id) {
    return this.decide({ ids: [id], accepted: false });
  }

  decide({ ids, parts, accepted = true, asWritten = this.view.asWritten }) {
    const { entry } = this;
    if (!entry) return announce("Select a mention first.");
    parts ??= entry.prediction.parts;
    const long = longForm(entry.prediction);
    const mention = (!asWritten && long) || entry.prediction.mention;
    const isHere = byId("scope").value === "document" || Boolean(asWritten && long);
    const concepts = ids.filter((id) => id && id !== NO_CONCEPT);
    const predicate = accepted && concepts.length ? chosenKind() : "";
    const what = partsInWords(ids);
    const left = this.view.openBeside(ids).map((place) => ` Part ${place + 1} is open.`);
    const words = `${mention}: ${accepted ? "" : "not "}${what}${markOf(predicate)}.${left.join("")}`;
    const settles = disputants(entry.prediction);
    const decision = { mention, ids, parts, accepted, predicate, asWritten, isHere, settles };
    chooseKind(); // what is decided next is exact again
    return attempt(() => this.page.decide(entry, decision, words));
  }

  /** Add the candidates that somebody asked for to an entry which is to be shown anew. */
  async lengthen(entry) {
    if (this.view.isLong && entry.prediction && isSame(entry, this.entry)) await moreOf(entry);
  }

  /** Show all candidates of the entry, and further ones behind them; its answer stays. */
  async more() {
    const { entry } = this;
    const before = this.view.numberShown;
    announce("Asking for more candidates …");
    await moreOf(entry);
    if (entry.prediction !== this.entry?.prediction) return;
    this.view.isLong = true;
    this.view.draw();
    const added = this.view.numberShown - before;
    announce(added ? `${plural(added, "more candidate")}.` : "There are no more candidates.");
  }
}

/** Why the answer of a part cannot be accepted as it is; null where it can. */
function whyNotAccept({ state, parts }, place) {
  if (state === "disputed")
    return "Reviewers disagree: choose an answer by its number, or press n for no concept.";
  const { nil, open, rejected } = parts[place];
  const isModels = open && rejected?.source !== "decision";
  if (state !== "open" || !nil || isModels) return null;
  return "There is no concept to accept: choose one by its number, or press n for no concept.";
}

/** Add further candidates to the parts of an entry. */
async function moreOf({ item, prediction }) {
  await item.read?.();
  const { mention: text, spans, parts } = prediction;
  const document = item.document && { ...item.document, mentions: [{ text, spans }] };
  const asked = document ? { documents: [document] } : { mentions: [item.mention] };
  const { predictions } = await postJson("link", { ...asked, k: MOST });
  for (const part of parts) {
    const known = new Set(part.candidates.map((candidate) => candidate.concept_id));
    const same = predictions[0].parts.find((other) => other.text === part.text);
    const others = same?.candidates.filter(({ concept_id: id }) => !known.has(id)) ?? [];
    part.candidates.push(...others);
  }
}

// what a concept is to the mention

/** Offer the kinds in the select element #predicate. */
function offerKinds() {
  const option = ([value, words]) => make("option", { value }, words);
  fill(byId("predicate"), Object.entries(KINDS).map(option));
}

const chosenKind = () => byId("predicate").value;

/** Choose a kind, the exact one if none is given. */
const chooseKind = (kind = "") => void (byId("predicate").value = kind);

/** Choose the next kind, and say so. */
function nextKind() {
  const kinds = Object.keys(KINDS);
  chooseKind(kinds[(kinds.indexOf(chosenKind()) + 1) % kinds.length]);
  announce(`The concept that is accepted next is ${KINDS[chosenKind()]}.`);
}
