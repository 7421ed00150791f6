/* The documents of a project: one of them with its mentions, the way to the others, and a list.
   What is marked in it is in marking.js. */

import { getJson, postJson } from "./api.js";
import { announce, attempt, button, byId, count, fill, make, percent, plural, table } from "./elements.js";
import { Marking, isSame } from "./marking.js";
import { clickedOf, drawAnew, markSelected, rangeOf, shownText } from "./places.js";
import { isUndecided } from "./queue.js";
import { ASSERTED, LOOKS, look, meaningOf } from "./predictions.js";
import { charactersOf, unitsOf } from "./text.js";
import { answersInWords } from "./verdicts.js";

const LISTED = 200; // documents that are listed at once
const COLUMNS = ["Document", "Title", "Mentions", "Decided", "Expected wrong"];

export class DocumentView {
  /** What the page gives:
   *
   * - `address`: of the project.
   * - `who`: gives {reviewer}, or null where nobody is named.
   * - `select`: is called with a mention that was chosen, or with null.
   * - `changed`: is called after mentions were changed.
   * - `act`: does what changes the document in its turn, and gives what that gives.
   * - `show`: as `select`, of what is done in its turn.
   */
  constructor({ address, who, select, changed, act = attempt, show = select }) {
    Object.assign(this, { address, who, chosen: select, changed, act, showChosen: show });
    Object.assign(this, { document: null, mentions: [], current: -1, listed: [], shown: LISTED });
    this.total = null; // how many documents there are, where the page knows it
    this.versions = {}; // of the marks of documents, by their numbers, as the page knows them
    this.shows = 0; // how often a document, or a new state of it, was taken up
    this.latest = null; // the mention that was selected last, also where it was removed since
    this.marking = new Marking(this);
    fill(byId("document"), this.frame());
    this.text.addEventListener("click", (event) => this.clicked(event));
    this.marking.listen(this.text);
  }

  frame() {
    this.title = make("h2", { tabindex: "-1" });
    this.text = make("div.text", { tabindex: "0", role: "group", "aria-label": "Text" });
    this.previous = button("Previous", () => this.step(-1));
    this.next = button("Next", () => this.step(1));
    this.done = make("input", { type: "checkbox", onchange: () => this.say() });
    this.sort = make(
      "select",
      { onchange: () => attempt(() => this.readList()) },
      make("option", { value: "number" }, "their order"),
      make("option", { value: "doubt" }, "doubt, the most first"),
    );
    this.list = make("div");
    return [
      make("div.bar", this.previous, this.title, this.next),
      make(
        "details.documents",
        { ontoggle: ({ target }) => target.open && attempt(() => this.readList()) },
        make("summary", "All documents"),
        make("label.field", "In order of ", this.sort),
        this.list,
      ),
      make("label.done", this.done, " All mentions of this document are marked"),
      this.marking.toolbar,
      this.text,
    ];
  }

  /** Show a document; `key`: select the first mention of this group, unless one of it is. */
  async open(number, key = null) {
    if (this.isListOld) await this.readList();
    const selected = number === this.number ? this.mentions[this.current] : null;
    this.wanted = number;
    const document = await getJson(this.path(number));
    if (number !== this.wanted) return; // another document was asked for meanwhile
    this.show(document);
    fill(this.text); // so that it is drawn anew
    if (key === null) this.turnTo(-1);
    else if (selected?.key === key) this.turnTo(this.numberOf(selected));
    else this.turnTo(this.mentions.findIndex((mention) => mention.key === key));
  }

  /** Show another document; no key decides any more on the mention that was selected before. */
  async openAnother(number) {
    await this.open(number);
    await this.chosen(null);
  }

  /** Whether a mention of a group is in the document that is shown. */
  has(key) {
    return this.mentions.some((mention) => mention.key === key);
  }

  path(number) {
    return `${this.address}/documents/${number}`;
  }

  /** The number of the document that is shown; undefined where none is. */
  get number() {
    return this.document?.number;
  }

  /** Read the document anew, as after a decision or an undo; what somebody does in it goes on.
   *
   * Gives the key of the selected mention; null where none is.
   */
  async refresh() {
    if (this.isListOld) await this.readList();
    let [shows, document] = [];
    do {
      shows = this.shows;
      document = await getJson(this.path(this.number));
    } while (shows !== this.shows); // something else is shown by now, which may be newer
    const before = this.mentions;
    this.show(document);
    this.take(this.numberOf(this.latest));
    if (this.current < 0 && this.latest) {
      // as by an Undo: a new one has its text
      const isNew = (mention) => !before.some((other) => isSame(mention, other));
      const { latest } = this;
      this.take(this.mentions.findIndex((m) => isNew(m) && overlap(m, latest)));
    }
    this.draw();
    return this.mentions[this.current]?.key ?? null;
  }

  /** Take a document as the service gives it. */
  show(document) {
    this.shows += 1;
    this.versions[document.number] = document.marks_version;
    const units = unitsOf(document.text);
    const inUnits = (spans) => spans.map((span) => span.map(units));
    this.document = document;
    this.passages = inUnits(document.passages);
    this.lines = withLines(document.text, document.passages.map(([start]) => units(start)));
    this.characters = charactersOf(document.text);
    this.mentions = document.mentions.map((m) => ({ ...m, spans: inUnits(m.spans) }));
    this.done.checked = document.done;
    this.title.textContent = `Document ${document.id}`;
  }

  /** The number of the mention that stands where another one does; -1 where none does. */
  numberOf(other) {
    return other ? this.mentions.findIndex((mention) => isSame(mention, other)) : -1;
  }

  /** Take up the number of the mention that is selected; -1: none is. */
  take(number) {
    this.current = number;
    this.latest = this.mentions[number] ?? this.latest;
  }

  draw() {
    const focused = this.text.contains(document.activeElement) && document.activeElement;
    const marks = this.mentions.map(({ spans }, number) => ({ number, spans }));
    drawAnew(this.text, () => {
      this.text.replaceChildren(...shownText(this.lines, marks, (n) => this.linkOf(n)).flat(2));
      this.text.dataset.end = this.lines.length;
    });
    const place = this.listed.findIndex(({ number }) => number === this.document.number);
    this.previous.disabled = place <= 0;
    this.next.disabled = place < 0 || place === this.listed.length - 1;
    this.marking.redrawn();
    this.mark();
    if (focused && focused !== this.text) this.focus({ preventScroll: true });
  }

  /** The place of the first text that is in sight. */
  firstSeen() {
    const isSeen = (piece) => piece.getBoundingClientRect().bottom > 0;
    const piece = [...this.text.querySelectorAll("[data-start]")].find(isSeen);
    return Number(piece?.dataset.start ?? 0);
  }

  /** Let the selected mention be in sight. */
  see() {
    this.anchor()?.scrollIntoView({ block: "center" });
  }

  /** Let a part of the text be in sight. */
  seen({ start, end }) {
    rangeOf(this.text, start, end).startContainer.parentElement.scrollIntoView({ block: "nearest" });
  }

  /** How a mention looks in the text, and its link. */
  linkOf(number) {
    const mention = this.mentions[number];
    const label = labelOf(mention);
    const title = [label, meaningOf(mention.assertion)].filter(Boolean).join(". ");
    // without an address, by which the mouse would drag it instead of selecting its text
    const link = { role: "link", tabindex: "0", "aria-label": label, title };
    return { look: lookOf(mention), assertion: mention.assertion, link };
  }

  /** Show which mention is selected. */
  mark() {
    markSelected(this.text, this.current);
    this.marking.show();
  }

  clicked(event) {
    const element = event.target.closest("[data-entries]");
    if (!element || !getSelection().isCollapsed || this.marking.parts) return; // text is selected
    this.choose(clickedOf(element, this.current));
  }

  /** Select a mention and tell the page, which shows its answer; -1: none. */
  choose(number) {
    this.turnTo(number);
    return this.chosen(this.mentions[number] ?? null);
  }

  /** Go to the next mention, or the one before. */
  move(step) {
    const number = this.current + step;
    if (!this.mentions[number])
      return announce(`The ${step > 0 ? "last" : "first"} mention of this document.`);
    return this.goTo(number);
  }

  /** Go to the next mention that somebody has to decide on; whether there is one. One of which parts
   * are open is the next itself.
   *
   * Who has begun something else meanwhile stays at it.
   */
  goOn() {
    if (this.marking.isBegun) return true;
    if (this.mentions[this.current]?.state === "open") return true; // a part of it waits
    const waits = (mention, number) => number > this.current && isUndecided(mention);
    const next = this.mentions.findIndex(waits);
    if (next >= 0) this.goTo(next);
    return next >= 0;
  }

  async goTo(number) {
    const shown = this.choose(number);
    this.focus();
    this.anchor()?.scrollIntoView({ block: "nearest" });
    await shown;
    announce(labelOf(this.mentions[number]));
  }

  /** Give the focus to the selected mention, or to the text: where none is, or keys walk in it.
   *
   * Under a pressed mouse it stays where it is: the browser would select no more.
   */
  focus(options) {
    if (this.marking.isPressed) return;
    ((!this.marking.walking && this.anchor()) || this.text).focus(options);
  }

  turnTo(number) {
    this.latest = null;
    this.take(number);
    this.marking.forget();
    if (this.text.hasChildNodes()) this.mark();
    else this.draw();
  }

  anchor() {
    return this.text.querySelector(`[data-anchor="${this.current}"]`);
  }

  /** Go to the next document, or the one before. */
  step(by) {
    const place = this.listed.findIndex(({ number }) => number === this.number);
    const other = this.listed[place + by];
    if (!other) return announce(by > 0 ? "The last document." : "The first document.");
    return attempt(async () => {
      await this.openAnother(other.number);
      this.title.focus();
      announce(`Document ${other.id}: ${plural(this.mentions.length, "mention")}.`);
    });
  }

  // what is marked

  /** Send marks, whose spans are in units; select the mention at `then`, and say what was done.
   *
   * Gives what was said; null where nobody marks, undefined where it failed.
   */
  send(marks, then, words) {
    const { number } = this; // by their turn, another document may be shown
    const places = (spans) => spans.map((span) => span.map(this.characters));
    const asKept = ({ action, before, spans, type }) => ({
      action,
      ...(before && { before: { spans: places(before.spans), type: before.type } }),
      ...(spans && { after: { spans: places(spans), type } }),
    });
    const kept = marks.map(asKept);
    return this.act(() => this.sendNow(number, kept, then, words));
  }

  async sendNow(number, marks, then, words) {
    const who = await this.who();
    if (!who) return null;
    const body = { ...who, version: this.versions[number], marks };
    const document = await postJson(`${this.path(number)}/marks`, body).catch(async (error) => {
      if (error.status === 409 && number === this.number) await this.refresh();
      throw error;
    });
    this.versions[number] = document.marks_version;
    if (number === this.number) {
      this.show(document);
      const begunOn = this.numberOf(this.marking.begunOn); // none where a retry changed it
      this.take(begunOn < 0 ? this.numberOf(then) : begunOn);
      this.draw();
    }
    await this.changed();
    if (number !== this.number) {
      announce(words); // of a document that somebody left meanwhile
      return words;
    }
    const mention = this.mentions[this.current] ?? null;
    await this.showChosen(mention);
    this.focus();
    const isOne = mention && marks.length === 1 && marks[0].after;
    const other = isOne && this.overlapped(mention);
    const overlap = other ? ` It overlaps “${other.text}”.` : "";
    const said = mention ? `${words} ${labelOf(mention)}.${overlap}` : words;
    announce(said);
    return said;
  }

  /** Another mention that has text of this one; undefined: none has. */
  overlapped(mention) {
    return this.mentions.find((other) => other !== mention && overlap(other, mention));
  }

  /** Say that all mentions are marked, or not yet. */
  say() {
    const { checked } = this.done;
    const words = `Kept: ${checked ? "" : "not "}all mentions are marked.`;
    const selected = this.mentions[this.current];
    return attempt(async () => {
      try {
        await this.send([{ action: checked ? "done" : "reopen" }], selected, words);
      } finally {
        this.done.checked = this.document.done;
        this.done.focus();
      }
    });
  }

  // the list

  /** Whether files came or went since the list was read. */
  get isListOld() {
    return !this.listed.length || this.listed.length !== (this.total ?? this.listed.length);
  }

  async readList() {
    const { documents } = await getJson(
      `${this.address}/documents?sort=${this.sort.value}`,
    );
    this.listed = documents;
    this.drawList();
    if (this.document) this.draw();
  }

  drawList() {
    const rows = this.listed.slice(0, this.shown).map((of) => [
      make("th", { scope: "row" }, this.opener(of)),
      of.title,
      count(of.mentions),
      count(of.decided),
      of.doubt.toFixed(1),
    ]);
    const more = this.listed.length > this.shown && button("More documents", () => {
      this.shown += LISTED;
      this.drawList();
    });
    fill(this.list, table("table.names", COLUMNS, rows), more);
  }

  opener({ number, id }) {
    const isOpen = number === this.number;
    const open = () => attempt(() => this.openAnother(number));
    return make(
      "button.quiet",
      { type: "button", onclick: open, "aria-current": isOpen && "true" },
      id,
    );
  }
}

/** Whether two mentions have text in common. */
const overlap = (one, other) =>
  one.spans.some(([start, end]) => other.spans.some(([from, to]) => from < end && start < to));

/** The text with a line break in place of the blank before each passage but the first. */
function withLines(text, starts) {
  const cuts = starts.filter((start) => start > 0 && text[start - 1] === " ");
  const lines = [0, ...cuts].map((start, number) => text.slice(start, (cuts[number] ?? Infinity) - 1));
  return lines.join("\n");
}

const lookOf = ({ state, answers, confidence }) => look(state, answers, confidence);

/** A mention and its answer in words. */
function labelOf(mention) {
  const { text, type, state, confidence, assertion, origin, bulk } = mention;
  const names = answersInWords(mention).join(" and ");
  const sure = confidence === null ? "" : `, ${percent(confidence)}`;
  const asserted = ASSERTED[assertion] ? `, ${ASSERTED[assertion]}` : "";
  const by = origin === "hand" ? ", marked by hand" : "";
  const isLinked = state !== "not linked";
  const how = LOOKS[lookOf(mention)] + (bulk ? " in bulk" : "");
  const answer = isLinked ? `${names}${sure}; ${how}` : state;
  return `${text}${asserted}: ${answer}${by}${type && `; ${type}`}`;
}
