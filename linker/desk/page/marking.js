/* Marking mentions in a text: by the mouse or a finger, and by the keyboard alone. What is picked is
   the selection of the browser, widened to whole words. What somebody has begun is kept here, until
   it is sent or left; the text may be drawn anew meanwhile. */

import { announce, button, fill, make } from "./elements.js";
import { lineBehind, selectedOf, showSelected } from "./places.js";
import { joined, spansOfParts, wholeWordsOf, wordsOf } from "./text.js";

const SHOWN = 60; // characters of a text that are shown of it
const ACROSS = "This goes across passages; mark each passage by itself.";
const ANOTHER = "\n"; // the choice that asks for a type
const SIDES = { ArrowLeft: -1, ArrowRight: 1 };
const LINES = { ArrowUp: -1, ArrowDown: 1 };
const HELP =
  "Marking by keys: arrows move by words, Shift and an arrow take more, Enter marks, Escape leaves. ";

const NOTHING = {
  picked: null, // {start, end} of the text
  from: null, // the words between which the keyboard picks: where it began, ...
  head: null, // ... and where it is
  walking: false, // whether arrows move through the text; then something is picked
  changing: null, // {spans, place, side}: an end of a mention that moves
  parts: null, // spans of the parts of a mention that is split
  begunOn: null, // the mention of which these are, the selected one
};

/** Whether two mentions stand in the same place, with the same type. */
export const isSame = (one, other) =>
  one.type === other.type && String(one.spans) === String(other.spans);

export class Marking {
  /** `view` shows the document; see documents.js. */
  constructor(view) {
    Object.assign(this, { view, ...NOTHING, isPressed: false }); // the mouse, in the text
    this.toolbar = this.tools();
    document.addEventListener("selectionchange", () => this.looked());
    for (const kind of ["pointerup", "pointercancel"])
      document.addEventListener(kind, () => (this.isPressed = false));
  }

  listen(text) {
    const on = (kind, listener) => text.addEventListener(kind, (event) => listener.call(this, event));
    on("keydown", this.pressed);
    on("pointerdown", () => (this.isPressed = true));
    on("pointerup", this.released);
  }

  tools() {
    const acting = (words, key, act, keys) =>
      button([words, " ", make("kbd", { "aria-hidden": "true" }, key)], act, {
        "aria-keyshortcuts": keys ?? key,
        onmousedown: (event) => event.preventDefault(), // what is selected stays so
      });
    this.typeChoice = make("select", { onchange: () => this.retype() });
    this.buttons = {
      add: acting("Mark", "+", () => this.add(), "+ Insert"),
      piece: acting("Add piece", "&", () => this.addPiece()),
      split: acting("Split", "s", () => this.split()),
      remove: acting("Remove", "Del", () => this.remove(), "Delete"),
      walk: acting("By keys", "i", () => this.walk()),
    };
    this.picking = make("p.note.picking");
    this.splitting = make("div.splitting", { hidden: true });
    const { add, piece, split, remove, walk } = this.buttons;
    return make(
      "div.marking",
      { role: "group", "aria-label": "Mark mentions" },
      make("div.bar", make("label.field", "Type ", this.typeChoice), add, piece, split, remove, walk),
      this.splitting,
      this.picking,
    );
  }

  // what is picked

  /** Forget what was picked, and what was begun. */
  forget() {
    Object.assign(this, NOTHING);
    if (selectedOf(this.view.text)) getSelection().removeAllRanges();
  }

  /** Whether something is selected or begun. */
  get isBegun() {
    return Boolean(this.isPressed || selectedOf(this.view.text) || this.begunOn);
  }

  /** The text was drawn anew: what was begun goes on, unless its mention was changed. */
  redrawn() {
    const { begunOn, mention } = this;
    if (begunOn && !(mention && isSame(mention, begunOn))) this.forget();
  }

  get mention() {
    return this.view.mentions[this.view.current];
  }

  /** The words of the text. */
  get words() {
    const { text } = this.view.document;
    if (this.wordsOf !== text) Object.assign(this, { wordsOf: text, found: wordsOf(text) });
    return this.found;
  }

  quote(spans) {
    const text = spans.map(([start, end]) => this.view.document.text.slice(start, end)).join(" … ");
    return `“${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}”`;
  }

  /** Pick a part of the text, show it as selected, and say what it is, behind other words. */
  pick(picked, before = "") {
    this.picked = picked;
    showSelected(this.view.text, picked);
    this.show();
    announce(before, this.quote([[picked.start, picked.end]]));
  }

  /** Somebody selected text, in whatever way. */
  looked() {
    if (!this.view.document || this.changing) return;
    const selected = selectedOf(this.view.text);
    if (selected?.start === this.picked?.start && selected?.end === this.picked?.end) return;
    this.picked = selected && wholeWordsOf(this.words, selected.start, selected.end);
    this.from = this.head = null;
    if (!this.picked) this.walking = false; // as by a click
    this.show();
  }

  /** Show what can be done now. */
  show() {
    const { mention, picked, parts, buttons } = this;
    const { types, type } = this.view.document;
    const shown = picked || !mention ? (this.chosenType ?? type) : mention.type;
    const offered = [...new Set([...types, shown])].sort();
    const option = (value, words) => make("option", { value }, words);
    const options = offered.map((name) => option(name, name || "none"));
    fill(this.typeChoice, options, option(ANOTHER, "another …"));
    this.typeChoice.value = shown;
    const isAcross = picked && this.isAcross([[picked.start, picked.end]]);
    buttons.add.disabled = !picked || isAcross;
    buttons.piece.disabled = !picked || isAcross || !(mention || parts);
    buttons.split.disabled = !mention;
    buttons.remove.disabled = !mention || Boolean(parts);
    buttons.walk.setAttribute("aria-pressed", this.walking);
    // a screen reader leaves the keys to us only where they are needed
    this.view.text.setAttribute("role", this.walking ? "application" : "group");
    const isChanged = this.changing && "; Enter keeps it, Escape gives it up";
    fill(
      this.picking,
      picked ? [this.quote([[picked.start, picked.end]]), isChanged] : mention ? "" : "Select text to mark a mention.",
      isAcross && ` ${ACROSS}`,
    );
    this.showParts();
  }

  // by the mouse, or a finger

  /** The mouse or the finger is lifted: text was selected. */
  released({ altKey, pointerType }) {
    if (pointerType === "touch") return undefined; // whose handles select on
    // the browser has the last word on its selection behind this event
    return setTimeout(() => {
      if (document.activeElement === document.body) this.view.focus({ preventScroll: true });
      const selected = selectedOf(this.view.text);
      if (!selected) return;
      const whole = altKey ? selected : wholeWordsOf(this.words, selected.start, selected.end);
      this.from = this.head = null;
      if (whole) this.pick(whole);
    });
  }

  giveUp() {
    this.forget();
    this.show();
  }

  // an end that moves

  /** Begin to move an end of the selected mention: the start (0) or end (1) of one of its spans. */
  begin(place, side) {
    const { mention } = this;
    this.changing = { spans: mention.spans.map((span) => [...span]), place, side };
    this.begunOn = mention;
    const [start, end] = this.changing.spans[place];
    this.pick({ start, end });
  }

  /** Move the end to a place of the text; a span keeps a character. */
  moveTo(at) {
    const { spans, place, side } = this.changing;
    const span = spans[place];
    span[side] = side ? Math.max(at, span[0] + 1) : Math.min(at, span[1] - 1);
    this.pick({ start: span[0], end: span[1] });
  }

  /** Move an end of the selected mention by a word, or by a character. */
  nudge(side, by, isExact) {
    if (this.parts) return announce("Split the mention, or press Escape, before you move its end.");
    const place = side ? this.mention.spans.length - 1 : 0;
    if (this.changing?.place !== place || this.changing.side !== side) {
      const { spans } = this.changing ?? {};
      this.begin(place, side);
      if (spans) this.changing.spans = spans;
    }
    const span = this.changing.spans[place];
    const at = span[side];
    const ends = this.words
      .map((word) => (side ? word.end : word.start))
      .filter((end) => (side ? end > span[0] : end < span[1]));
    const next = by > 0 ? ends.find((end) => end > at) : ends.findLast((end) => end < at);
    return this.moveTo(isExact ? at + by : (next ?? at));
  }

  /** Keep a mention with its new ends. */
  keep() {
    const { changing, begunOn: mention } = this;
    if (String(changing.spans) === String(mention.spans)) return this.giveUp();
    return this.sendChange(mention, changing.spans, mention.type, "Changed.");
  }

  // what is sent

  /** Whether spans are in more than one passage. */
  isAcross(spans) {
    const [first, last] = [Math.min(...spans.flat()), Math.max(...spans.flat())];
    return !this.view.passages.some(([start, end]) => start <= first && last <= end);
  }

  /** Send marks and clear what was begun; restore it if the service did not keep them. A walk moves
   * on behind the mark.
   */
  async send(marks, then, words) {
    if (marks.some(({ spans }) => spans && this.isAcross(spans))) {
      this.show();
      return void announce(ACROSS);
    }
    const { number } = this.view;
    const begun = Object.fromEntries(Object.keys(NOTHING).map((name) => [name, this[name]]));
    this.forget();
    if (begun.walking) this.walk(begun.picked.end, "");
    else this.show();
    const { picked } = this; // by the walk; who picked or began something else meanwhile stays at it
    const said = await this.view.send(marks, then, words);
    const isElsewhere = this.picked !== picked || this.begunOn || number !== this.view.number;
    if (said || isElsewhere) return said;
    Object.assign(this, begun);
    this.redrawn();
    if (this.picked) showSelected(this.view.text, this.picked);
    this.show();
    return said;
  }

  sendChange(mention, spans, type, words) {
    const changed = { spans: joined(spans), type };
    return this.send([{ action: "change", before: mention, ...changed }], changed, words);
  }

  /** Mark what is picked; where a mention is split, it is one of its parts. */
  async add() {
    if (!this.picked) return announce("Select the text of a mention first.");
    const { start, end } = this.picked;
    if (this.parts) return this.changeParts([...this.parts, [[start, end]]]);
    const made = { spans: [[start, end]], type: this.typeChoice.value };
    const said = await this.send([{ action: "add", ...made }], made, "Marked.");
    const { picked, walking } = this;
    if (said && walking) announce(said, " Next: ", this.quote([[picked.start, picked.end]]));
  }

  /** Add what is picked to the selected mention, or to the last part of one that is split. */
  addPiece() {
    const { picked, mention, parts } = this;
    if (!picked) return announce("Select the text of a piece first.");
    const piece = [picked.start, picked.end];
    if (parts) return this.changeParts([...parts.slice(0, -1), joined([...(parts.at(-1) ?? []), piece])]);
    if (!mention) return announce("Select the mention first to which the piece belongs.");
    return this.sendChange(mention, [...mention.spans, piece], mention.type, "Added.");
  }

  remove() {
    const { mention } = this;
    if (!mention) return announce("Select a mention first.");
    const words = `Removed ${this.quote(mention.spans)}.`;
    return this.view.send([{ action: "delete", before: mention }], null, words);
  }

  toType() {
    this.typeChoice.focus();
  }

  retype() {
    const chosen = this.typeChoice.value;
    // no field of the page, whose focus would take away what is selected
    const type = chosen === ANOTHER ? prompt("The type, such as Disease:")?.trim() : chosen;
    if (type === undefined) return this.show();
    if (this.picked || !this.mention) {
      this.chosenType = type;
      return this.show();
    }
    return this.sendChange(this.mention, this.mention.spans, type, "Changed.");
  }

  // a mention that is split

  /** Begin to split the selected mention, or split it into the parts that were named. */
  split() {
    const { mention, parts } = this;
    if (!mention) return announce("Select the mention first that is to be split.");
    if (!parts) {
      const { text } = this.view.document;
      this.changeParts(spansOfParts(mention.parts, mention.spans, text));
      return this.view.text.focus({ preventScroll: true });
    }
    if (parts.length < 2) return announce("Name two parts at least: select text, then press +.");
    const added = parts.map((spans) => ({ action: "add", spans: joined(spans), type: mention.type }));
    const words = `Split into ${parts.length}.`;
    return this.send([{ action: "delete", before: mention }, ...added], added[0], words);
  }

  changeParts(parts) {
    const { walking, picked, mention } = this;
    if (!walking) this.forget();
    Object.assign(this, { parts, begunOn: mention });
    this.show();
    announce(`Parts: ${parts.map((spans) => this.quote(spans)).join(", ") || "none yet"}.`);
  }

  showParts() {
    this.splitting.hidden = !this.parts;
    if (!this.parts) return fill(this.splitting);
    const without = (part) => () => this.changeParts(this.parts.filter((other) => other !== part));
    const shown = this.parts.map((part) => {
      const words = this.quote(part);
      return make("li", words, " ", button("×", without(part), { "aria-label": `Without ${words}` }));
    });
    return fill(
      this.splitting,
      make("p", { tabindex: "-1", "data-focus": true }, `Split ${this.quote(this.mention.spans)} into`),
      make("ol", shown),
      make("p.note", "Select text: + is a further part, & a piece of the last one."),
      make("p.buttons",
        button("Split", () => this.split(), { disabled: this.parts.length < 2 }),
        button("Cancel", () => this.giveUp())),
    );
  }

  // by the keyboard

  pressed(event) {
    if (event.isComposing || event.metaKey) return;
    const act = this.actionOf(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation(); // the page has other keys
    act();
  }

  /** What a key does; undefined where it is none of ours. */
  actionOf({ key, shiftKey, ctrlKey, altKey, target }) {
    const { changing, picked, mention, walking } = this;
    const side = SIDES[key];
    if (side && shiftKey && picked && !changing && !ctrlKey)
      return () => (altKey ? this.stretch(side) : this.go(side, true));
    if (side && shiftKey && mention) return () => this.nudge(ctrlKey ? 0 : 1, side, altKey);
    if (ctrlKey || altKey) return undefined;
    if (walking && (side || LINES[key])) return () => this.go(side, shiftKey, LINES[key]);
    if (key === "Escape") {
      const isBegun = changing || this.parts || picked || walking;
      return isBegun ? () => this.leave() : undefined;
    }
    if (key === "Enter") {
      if (changing) return () => this.keep();
      if (picked) return () => this.add();
      return target === this.view.text ? undefined : () => target.click();
    }
    const acts = { "+": "add", Insert: "add", "&": "addPiece", s: "split", i: "walk", y: "toType" };
    if (acts[key]) return () => this[acts[key]]();
    return key === "Delete" && mention ? () => this.remove() : undefined;
  }

  /** Leave what was begun: the change of an end, the parts, or the walk through the text. */
  leave() {
    this.giveUp();
    this.view.focus();
    announce("Left.");
  }

  /** Let arrows move through the text, from a place of it, or from the selected mention. */
  walk(place, before = HELP) {
    const { words, mention, view } = this;
    const from = place ?? this.picked?.start ?? mention?.spans[0]?.[0] ?? view.firstSeen();
    const word = words.find(({ end }) => end > from) ?? words.at(-1);
    if (!word) return announce("The text has no words.");
    this.walking = true;
    view.text.focus({ preventScroll: true });
    this.from = this.head = word;
    return this.pick(word, before);
  }

  /** Go to the next word, or the one before; `line`: to another line; or take what is between. */
  go(side, isMore, line) {
    const { words, picked } = this;
    const from = this.head ?? picked;
    const ahead = (side ?? line) > 0;
    const behind = ahead
      ? words.filter(({ start }) => start >= from.end)
      : words.filter(({ end }) => end <= from.start).reverse();
    const next = line ? lineBehind(this.view.text, from, behind) : behind[0];
    if (!next) return announce(ahead ? "The last word." : "The first word.");
    this.from = isMore ? (this.from ?? picked) : next;
    this.head = next;
    const start = Math.min(this.from.start, next.start);
    this.pick({ start, end: Math.max(this.from.end, next.end) });
    return this.view.seen(next);
  }

  /** Move the end of what is picked by a character. */
  stretch(by) {
    const { start, end } = this.picked;
    this.pick({ start, end: Math.max(start + 1, Math.min(end + by, this.view.document.text.length)) });
  }
}
