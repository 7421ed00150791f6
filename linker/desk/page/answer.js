/* The right side: the answer for the selected mention, part by part, with all candidates. */

import { button, byId, count, fill, make, meterOf, percent } from "./elements.js";
import { HARDLY, LOOKS, NO_CONCEPT, READ, answersOf, assertionOf } from "./predictions.js";
import { inWords, isOpenPart, isSame, lookOf } from "./predictions.js";

export class AnswerView {
  /** `actions` are {about, chooseBroader, reject}, each called with an id, {choose}, called with an id
   * and the place of a part, {chooseReading}, called with several ids and the parts that they are of, {more}, and {use}, called when
   * another part is in use, on which keys and buttons act; without `choose`, nothing is decided.
   */
  constructor(actions) {
    Object.assign(this, { actions, part: 0, entry: null, asWritten: false });
    this.isLong = false; // whether somebody asked for more candidates of what is shown
  }

  /** Show an entry, the n-th of so many; `about` is the id of the concept shown below. */
  show(entry, number, total) {
    const focused = isSame(entry, this.entry) ? labelOf(this.focused) : null;
    const before = this.part;
    this.part = this.partOfNext(entry);
    if (!isSame(entry, this.entry)) Object.assign(this, { asWritten: false, isLong: false });
    this.entry = entry;
    fill(byId("answer"), entry ? `“${entry.prediction.mention}”` : "No mention is selected");
    fill(byId("place"), entry && placeOf(entry, number, total));
    byId("reasons").hidden = !entry;
    this.draw();
    const buttons = [...byId("candidates").querySelectorAll("button")];
    if (focused && this.part !== before) return this.headingInUse?.focus({ preventScroll: true });
    if (focused) buttons.find((other) => labelOf(other) === focused)?.focus({ preventScroll: true });
  }

  /** The part that is in use once an entry is shown: the first that is open of another entry than
   * the present one; of the same the next that is open, where the part in use was decided meanwhile,
   * or the one that was taken back.
   */
  partOfNext(entry) {
    const next = entry?.prediction;
    const before = this.entry?.prediction;
    const isOpen = next?.parts.map((_, place) => isOpenPart(next, place)) ?? [];
    const isSameParts = isSame(entry, this.entry) && isOpen.length === before?.parts.length;
    if (!isSameParts) return Math.max(isOpen.indexOf(true), 0);
    const wasOpen = before.parts.map((_, place) => isOpenPart(before, place));
    if (wasOpen[this.part] && !isOpen[this.part]) {
      const behind = isOpen.indexOf(true, this.part + 1);
      const first = behind < 0 ? isOpen.indexOf(true) : behind;
      return first < 0 ? this.part : first;
    }
    const back = isOpen.findIndex((now, place) => now && !wasOpen[place]);
    return back < 0 ? this.part : back;
  }

  /** The button of the candidates that has the focus. */
  get focused() {
    return byId("candidates").querySelector("button:focus");
  }

  /** Draw the candidates of the entry. */
  draw() {
    const { parts = [], rivals = [] } = this.entry?.prediction ?? {};
    this.part = Math.min(this.part, Math.max(parts.length - 1, 0));
    fill(
      byId("candidates"),
      parts.map((part, place) => this.partOf(part, place, parts.length > 1)),
      rivals.map((rival) => this.rivalOf(rival)),
      !this.isLong && parts.some(({ candidates }) => candidates.length > 1) && this.moreButton(),
    );
  }

  moreButton() {
    const text = ["More candidates ", make("kbd", { "aria-hidden": "true" }, "m")];
    return button(text, this.actions.more, { id: "more", "aria-keyshortcuts": "m" });
  }

  /** The ids of a decision on one part, null for each other one, which is left as it is; [] for no
   * concept of a mention of one part.
   */
  idsWith(id = NO_CONCEPT, decided = this.part) {
    const { parts } = this.entry.prediction;
    if (parts.length > 1) return parts.map((_, place) => (place === decided ? id : null));
    return id === NO_CONCEPT ? [] : [id];
  }

  /** The places of the parts that stay open beside a decision on others. */
  openBeside(ids) {
    const { prediction } = this.entry;
    const places = ids.map((_, place) => place).filter((place) => ids[place] === null);
    return places.filter((place) => prediction.parts[place] && isOpenPart(prediction, place));
  }

  get best() {
    return this.entry ? answersOf(this.entry.prediction)[this.part] : null;
  }

  /** The n-th concept that is shown for the part in use; it is undefined if there are fewer. */
  offered(number) {
    const part = this.entry?.prediction.parts[this.part];
    return part && this.shownOf(part)[number - 1];
  }

  /** The concepts of a part that are shown: all, where somebody asked for more. */
  shownOf(part) {
    const offers = offersOf(part);
    return this.isLong ? offers : offers.slice(0, numberShown(part, offers));
  }

  /** How many concepts are shown, of all parts. */
  get numberShown() {
    const { parts = [] } = this.entry?.prediction ?? {};
    return parts.reduce((sum, part) => sum + this.shownOf(part).length, 0);
  }

  usePart(place) {
    this.part = place;
    for (const element of byId("candidates").querySelectorAll(".part"))
      element.classList.toggle("in-use", Number(element.dataset.part) === place);
    this.actions.use?.();
  }

  nextPart() {
    const parts = this.entry?.prediction.parts.length ?? 0;
    if (parts > 1) this.usePart((this.part + 1) % parts);
    return this.headingInUse;
  }

  /** The heading of the part in use; null where there is one part alone. */
  get headingInUse() {
    return byId("candidates").querySelector(".in-use h3");
  }

  partOf(part, place, several) {
    const offers = this.shownOf(part);
    const best = part.nil ? null : part.candidates[0];
    const use = () => this.usePart(place);
    const attributes = { "data-part": place, onfocusin: use, onclick: use };
    const list = offers.map((offer, n) => this.candidateOf(offer, n + 1, offer === best, place));
    return make(
      `section.part${place === this.part ? ".in-use" : ""}`,
      { ...attributes, "aria-label": several ? `Part ${place + 1}` : "Candidates" },
      several && this.headingOf(part, place),
      part.expanded && this.expansionOf(part),
      !best && make("p.none", this.reasonOfNone(part, place, offers)),
      make("ol.candidates", list),
      this.broaderOf(part, several),
      this.promiseOf(part),
    );
  }

  /** Which part it is, whether it was decided, and whether keys act on it. */
  headingOf({ text, assertion }, place) {
    const decided = !isOpenPart(this.entry.prediction, place);
    return make(
      "h3",
      { tabindex: "-1" },
      `Part ${place + 1}: ${text}`,
      assertionOf(assertion),
      decided && make("span.badge", "decided"),
      this.actions.choose && make("span.acts", "keys act on this part"),
    );
  }

  /** What the part probably is a kind of, where no concept is sure. */
  broaderOf({ broader }, several) {
    if (!broader) return null;
    const { concept_id: id, name, confidence } = broader;
    const { about, choose, chooseBroader } = this.actions;
    const concept = button(name, () => about(id), { class: "name" });
    const label = { "aria-label": `Choose ${name} as broader` };
    return make(
      "p.rival",
      make("span", "It probably is a kind of ", concept, ` (${percent(confidence)})`),
      // a decision says of all parts together what their concepts are
      choose && !several && button("Choose as broader", () => chooseBroader(id), label),
    );
  }

  /** Among how many the right answer is nearly always; COVERAGE of projects/linking.py says how often. */
  promiseOf({ candidates, open, set = [] }) {
    const count = set.filter(Boolean).length;
    if (!set.length || (this.entry.prediction.state !== "model" && !open)) return null;
    const many = count > candidates.length ? `one of ${count} concepts` : `one of the first ${count}`;
    const first = count > 1 ? many : "the first one";
    const answer = [count && first, set.includes(null) && "none of these"].filter(Boolean);
    return make("p.promise", `In 9 of 10 such cases the right answer is ${answer.join(", or ")}.`);
  }

  /** What a short form is read as, and which of the two a decision is kept for. */
  expansionOf({ text, expanded }) {
    const option = (selected, words) => make("option", { selected }, words);
    if (!this.actions.choose) return make("p.note", `“${text}” is read as “${expanded}”.`);
    const onchange = ({ target }) => (this.asWritten = target.selectedIndex === 1);
    const here = `“${text}” in this document`; // these letters may mean something else elsewhere
    const forms = [option(!this.asWritten, "the long form"), option(this.asWritten, here)];
    const words = `“${text}” is read as “${expanded}”; the decision is kept for `;
    return make("p.note", make("label", words, make("select", { onchange }, forms)));
  }

  /** Why a part is answered with no concept. */
  reasonOfNone({ open, rejected }, place, offers) {
    const { prediction } = this.entry;
    if (!isOpenPart(prediction, place)) return "No concept: a reviewer decided so.";
    const isRejected = rejected?.source === "decision" || !open;
    if (prediction.state === "open" && isRejected) return REJECTED;
    return offers.length ? "No concept is sure enough." : NOTHING;
  }

  candidateOf(candidate, number, isBest, place) {
    const { concept_id: id, name, confidence, matched_name: matched, source } = candidate;
    const { about, choose, reject } = this.actions;
    const verb = isBest ? "Accept" : "Choose";
    const verdict = isBest ? "decided" : "rejected";
    const origin = source === "decision" ? verdict : `lent by ${source}`;
    const badge = source && make("span.badge", origin);
    return make(
      `li${isBest ? ".best" : ""}`,
      { "aria-current": isBest },
      make("kbd", { "aria-hidden": "true" }, number < 10 ? number : ""),
      make(
        "div.about",
        button(name, () => about(id), { class: "name", title: "Show this concept" }),
        make(
          "span.facts",
          certainty(confidence, isBest && source !== "decision"),
          make("code", id),
          ` by “${matched}” `,
          badge,
        ),
      ),
      choose &&
        make(
          "span.buttons",
          button(verb, () => choose(id, place), { "aria-label": `${verb} ${name}` }),
          button("Reject", () => reject(id), { "aria-label": `Reject ${name}` }),
        ),
    );
  }

  rivalOf({ kind, parts, confidence }) {
    const answers = answersOf({ parts }).filter(Boolean);
    if (!answers.length) return null;
    // a part without a concept is left open
    const of = answersOf({ parts }).map((answer) => answer?.concept_id ?? null);
    const ids = of.includes(null) ? of : [...new Set(of)];
    const now = answersOf(this.entry.prediction).map((answer) => answer?.concept_id);
    if (ids.join() === now.join()) return null;
    const rejected = this.entry.prediction.decisions.filter(({ accepted }) => !accepted);
    if (rejected.some(({ concept_id: id }) => ids.includes(id))) return null;
    const names = [...new Set(answers.map((answer) => answer.name))].join(" and ");
    const share = confidence === null ? "" : ` (${percent(confidence)})`;
    const label = { "aria-label": `Choose ${names}` };
    const { chooseReading: choose } = this.actions;
    return make(
      "p.rival",
      make("span", `Or, read ${READ[kind]}: ${names}${share}`),
      choose && button("Choose", () => choose(ids, parts), label),
    );
  }
}

const labelOf = (button) => button?.getAttribute("aria-label") ?? button?.textContent;

const REJECTED = "No answer yet: a reviewer rejected the best one, and no other is sure enough.";
const NOTHING = "No name of the dictionary is like it. Search for a concept above.";

/** What may be chosen for a part: its candidates, or the one that was too unsure. */
const offersOf = (part) =>
  part.candidates.length ? part.candidates : [part.rejected].filter(Boolean);

/** How many concepts of a part are shown at first: those up to the last one that may be right, or
 * that is said to be among the answers, and at least one. */
function numberShown({ set = [] }, offers) {
  const mayBeRight = ({ confidence }) => confidence === null || confidence >= HARDLY;
  const inSet = set.filter(Boolean).length;
  return Math.max(1, inSet, offers.findLastIndex(mayBeRight) + 1);
}

function placeOf({ item, prediction }, number, total) {
  const look = lookOf(prediction);
  const places = (prediction.spans ?? []).map(([start, end]) => `${start}–${end}`);
  const facts = [
    `${count(number + 1)} of ${count(total)}`,
    item.document && !item.pasted && `document ${item.document.id}`,
    places.length > 0 && `characters ${places.join(" and ")}`,
    prediction.reading !== "whole" && `read ${READ[prediction.reading]}`,
  ];
  const state = make("span.mention", { "data-state": look }, LOOKS[look]);
  return [state, assertionOf(prediction.assertion), " ", facts.filter(Boolean).join(" · ")];
}

/** A confidence; that of the model's own answer also in words. */
function certainty(confidence, isAnswer) {
  if (confidence === null) return null;
  const number = make("span.certainty", meterOf(confidence), percent(confidence));
  return isAnswer ? [number, make("strong", inWords(confidence)), " · "] : number;
}
