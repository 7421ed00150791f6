/* The queue of a project as a list of which only the rows in sight are elements; the others are
   asked of the service, a page at a time, when they come into sight. */

import { attempt, byId, count, make, meterOf, percent, plural } from "./elements.js";
import { ASSERTED, LOOKS, assertionOf, isDecided, look } from "./predictions.js";
import { answersInWords, partsOf } from "./verdicts.js";

const PAGE = 100; // rows of a request
const AROUND = 6; // rows above and below those in sight
const FURTHEST = 2000; // rows that are looked through for the next undecided one

/** Whether somebody has still to decide on a row. */
export const isUndecided = ({ state }) => !isDecided(state) && state !== "not linked";

export class Queue {
  /** `ask` gives the service's answer for {offset, limit, find}, `select` is called with the place
   * of a row that was chosen, and `isWanted` tells whether a changed row is still one of the filter.
   */
  constructor({ ask, select, isWanted }) {
    Object.assign(this, { ask, isWanted, element: byId("rows") });
    Object.assign(this, { total: 0, pages: new Map(), shown: new Map(), gone: new Set() });
    // `before`: the place before that of a selected row which is no longer in the list
    Object.assign(this, { current: -1, before: -1, reading: 0 });
    this.sizer = make("div.sizer", { role: "none" });
    this.element.append(this.sizer);
    this.element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.element.addEventListener("click", (event) => {
      const row = event.target.closest("[data-place]");
      if (row) select(Number(row.dataset.place));
    });
    this.element.addEventListener("keydown", (event) => {
      const last = this.total - 1;
      const screen = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
      const places = {
        Home: 0,
        End: last,
        PageDown: Math.min(this.current + screen, last),
        PageUp: Math.max(this.current - screen, 0),
      };
      if (!(event.key in places) || last < 0) return;
      event.preventDefault();
      select(places[event.key]);
    });
  }

  /** The height of a row, which follows the size of the letters, as review.css has it. */
  get height() {
    return 2.5 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  /** Read the queue anew, from the top; or with the row of a key in sight, where it is in it. */
  async open(key) {
    const answer = await this.read(0, PAGE, key);
    if (!answer) return undefined;
    this.current = answer.position ?? this.placeOf(key);
    this.before = -1;
    this.element.scrollTop = 0;
    this.draw();
    if (this.current >= 0) this.scrollTo(this.current);
    return answer;
  }

  /** Read the rows in sight anew; the row of the key stays where it is on the screen. */
  async refresh(key) {
    const top = Math.floor(this.element.scrollTop / this.height);
    const first = Math.max(0, Math.floor(top / PAGE) - 1) * PAGE;
    const before = this.current;
    const answer = await this.read(first, 3 * PAGE, key);
    if (!answer) return undefined;
    this.current = answer.position ?? this.placeOf(key);
    if (this.current < 0 && before >= 0) this.before = before - 1;
    if (before >= 0 && this.current >= 0)
      this.element.scrollTop += (this.current - before) * this.height;
    this.draw();
    return answer;
  }

  /** Ask for rows, which take the place of all that were read; null where others were asked for. */
  async read(offset, limit, key) {
    const number = ++this.reading;
    const answer = await this.ask({ offset, limit, find: key });
    if (number !== this.reading) return null;
    this.pages = new Map();
    for (let place = 0; place < answer.rows.length || !place; place += PAGE)
      this.pages.set((offset + place) / PAGE, answer.rows.slice(place, place + PAGE));
    this.gone.clear();
    this.total = answer.total;
    return answer;
  }

  rowAt(place) {
    const page = this.pages.get(Math.floor(place / PAGE));
    return Array.isArray(page) ? page[place % PAGE] : undefined;
  }

  /** The row at a place, which is asked for where it is not there; undefined behind the last. */
  async rowOf(place) {
    if (place < 0 || place >= this.total) return undefined;
    if (!this.rowAt(place)) await this.load(Math.floor(place / PAGE));
    return this.rowAt(place);
  }

  /** Load a page. Rows that stay on the screen, but that the service no longer counts, are above
   * it or not. */
  load(page) {
    const kept = this.pages.get(page);
    if (kept) return kept;
    const [number, first] = [this.reading, page * PAGE];
    const above = [...this.gone].filter((place) => place < first).length;
    const loading = this.ask({ offset: first - above, limit: PAGE }).then(
      ({ rows }) => {
        if (number !== this.reading) return;
        this.pages.set(page, rows);
        this.draw();
      },
      (error) => {
        this.pages.delete(page);
        throw error;
      },
    );
    this.pages.set(page, loading);
    return loading;
  }

  /** Put changed rows into the list, in their places. */
  update(rows) {
    const changed = new Map(rows.map((row) => [row.key, row]));
    for (const [page, kept] of this.pages) {
      if (!Array.isArray(kept)) continue;
      kept.forEach((row, n) => {
        if (!changed.has(row.key)) return;
        kept[n] = changed.get(row.key);
        const place = page * PAGE + n;
        if (this.isWanted(kept[n])) this.gone.delete(place);
        else this.gone.add(place);
      });
    }
    this.draw();
  }

  /** The place of the row of a key, if it was read. */
  placeOf(key) {
    for (const [page, rows] of this.pages) {
      const n = Array.isArray(rows) ? rows.findIndex((row) => row.key === key) : -1;
      if (n >= 0) return page * PAGE + n;
    }
    return -1;
  }

  /** The place of the next row behind one that somebody has to decide on; -1: there is none. */
  async nextUndecided(place) {
    for (let next = place + 1; next < Math.min(this.total, place + FURTHEST); next++) {
      const row = await this.rowOf(next);
      if (row && isUndecided(row)) return next;
    }
    return -1;
  }

  /** Mark the row at a place as the selected one, and bring it into sight. */
  select(place) {
    this.current = place;
    this.scrollTo(place);
    this.draw();
  }

  /** The place that is so many rows from the selected one, or from where it was. */
  placeAfter(step) {
    if (this.current >= 0) return this.current + step;
    return step > 0 ? this.before + step : this.before + step + 1;
  }

  scrollTo(place) {
    const { scrollTop, clientHeight } = this.element;
    const [top, bottom] = [place * this.height, (place + 1) * this.height];
    if (place < 0) return;
    if (bottom + this.height > scrollTop + clientHeight)
      this.element.scrollTop = bottom + this.height - clientHeight;
    if (top < scrollTop) this.element.scrollTop = Math.max(0, top - this.height);
  }

  focus() {
    this.element.focus({ preventScroll: true });
  }

  /** Draw the rows in sight; a row whose element shows it already keeps it. */
  draw() {
    const { scrollTop, clientHeight } = this.element;
    if (!clientHeight) return;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - AROUND);
    const end = Math.min(this.total, Math.ceil((scrollTop + clientHeight) / this.height) + AROUND);
    this.sizer.style.height = `${this.total * this.height}px`;
    for (const [place, { element }] of this.shown)
      if (place < first || place >= end) {
        element.remove();
        this.shown.delete(place);
      }
    for (let page = Math.floor(first / PAGE); page * PAGE < end; page++)
      if (!this.pages.has(page)) attempt(() => this.load(page));
    for (let place = first; place < end; place++) this.drawRow(place);
    const selected = this.shown.get(this.current)?.element;
    if (selected) this.element.setAttribute("aria-activedescendant", selected.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  drawRow(place) {
    const row = this.rowAt(place);
    let shown = this.shown.get(place);
    if (!shown || shown.row !== row) {
      const element = rowElement(row, place);
      element.style.top = `${place * this.height}px`;
      if (shown) shown.element.replaceWith(element);
      else this.sizer.append(element);
      this.shown.set(place, (shown = { row, element }));
    }
    const isCurrent = place === this.current;
    shown.element.setAttribute("aria-selected", isCurrent);
    shown.element.setAttribute("aria-setsize", this.total);
    shown.element.classList.toggle("selected", isCurrent);
  }
}

/** A row as an option of the list; it waits for its row where that is undefined. */
function rowElement(row, place) {
  const attributes = {
    id: `row-${place}`,
    role: "option",
    "aria-posinset": place + 1,
    "data-place": place,
  };
  if (!row) return make("div.row.waiting", { ...attributes, "aria-label": "loading" }, "…");
  const seen = look(row.state, row.answers, row.confidence);
  const names = answersInWords(row).join(" | ");
  const parts = partsOf(row.ids);
  const idOf = (answer, place) => (parts[place] === null ? "?" : (answer?.concept_id ?? "–"));
  const ids = row.answers.map(idOf).join(" | ");
  const kind = (row.predicate && ` as ${row.predicate}`) + (row.bulk ? " in bulk" : "");
  const who = row.reviewers.join(", ");
  const by = who && ` · ${who}`;
  const sure = row.confidence === null ? "" : percent(row.confidence);
  const signs = [row.flag && "⚑", row.note && "✎"].filter(Boolean).join(" ");
  const label = [
    row.mention,
    row.count > 1 && plural(row.count, "time"),
    ASSERTED[row.assertion],
    names,
    LOOKS[seen] + kind + (who && ` by ${who}`),
    sure,
    row.flag && "flagged",
    row.note && "with a note",
  ];
  return make(
    "div.row",
    { ...attributes, "data-state": seen, "aria-label": label.filter(Boolean).join("; ") },
    make(
      "span.what",
      make("bdi.name", row.mention),
      row.expanded && make("span.note", ` = ${row.expanded}`),
      row.count > 1 && make("span.times", `×${count(row.count)}`),
      assertionOf(row.assertion),
    ),
    make("span.certainty", sure && [meterOf(row.confidence), sure]),
    make("span.answers", names, " ", make("code", ids)),
    make("span.state", signs && make("span.signs", `${signs} `), SIGNS[seen], LOOKS[seen], kind, by),
  );
}

const SIGNS = {
  accepted: "✓ ",
  "no concept": "∅ ",
  rejected: "✗ ",
  open: "? ",
  disputed: "⚠ ",
};
