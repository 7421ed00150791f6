/* A list that stands in the place of the queue (Unsure, Disagreements, New release): which of its
   rows is selected, as keys walk through it. It answers the same questions as the queue. */

import { byId } from "./elements.js";

export class ListView {
  /** `id` is that of the element that holds the list; each row in it has its key as data-key. A key
   * may be there twice.
   */
  constructor(id) {
    this.element = byId(id);
    this.current = -1; // the place of the selected row; -1: it is not in the list
    this.key = null; // of the row that was selected last
    this.before = -1; // the place before that of a selected row which is no longer in the list
    this.element.addEventListener("keydown", (event) => this.enter(event));
    // rows that are folded away, or no more, change the places of those behind them
    this.element.addEventListener("toggle", () => this.redrawn(null), true);
  }

  /** The rows that are seen: none that is folded away. */
  get rows() {
    const every = [...this.element.querySelectorAll("[data-key]")];
    return every.filter((row) => !row.closest("details:not([open])"));
  }

  /** The selected row, where it is seen; undefined otherwise. */
  get selected() {
    const row = this.rows[this.current];
    return row?.dataset.key === this.key ? row : undefined;
  }

  get total() {
    return this.rows.length;
  }

  /** The row at a place; undefined where there is none. */
  rowAt(place) {
    const element = this.rows[place];
    return element && { key: element.dataset.key };
  }

  rowOf(place) {
    return this.rowAt(place);
  }

  /** The first place of a key; -1 where it is not in the list. */
  placeOf(key) {
    return this.rows.findIndex((row) => row.dataset.key === key);
  }

  /** The place that is so many rows from the selected one, or from where it was. */
  placeAfter(step) {
    if (this.current >= 0 && !this.selected) this.redrawn(null); // rows were folded away just now
    if (this.current >= 0) return this.current + step;
    return step > 0 ? this.before + step : this.before + step + 1;
  }

  /** The place of the next row behind one that is another mention; -1: there is none. */
  nextUndecided(place) {
    const key = this.rowAt(place)?.key;
    return this.rows.findIndex((row, other) => other > place && row.dataset.key !== key);
  }

  /** Mark the row at a place as the selected one, and bring it into sight. */
  select(place) {
    this.current = place;
    this.key = this.rowAt(place).key;
    this.mark();
    this.rows[place].scrollIntoView({ block: "nearest" });
  }

  /** Take up that the list was drawn anew while the row of a key is selected; null: the last one. */
  redrawn(selected) {
    const key = selected ?? this.key;
    const place = this.rowAt(this.current)?.key === key ? this.current : this.placeOf(key);
    if (place < 0 && this.current >= 0) this.before = this.current - 1;
    if (place >= 0) this.key = key;
    this.current = place;
    this.mark();
  }

  mark() {
    this.rows.forEach((row, place) => {
      const isCurrent = place === this.current;
      row.classList.toggle("selected", isCurrent);
      if (isCurrent) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    });
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** Give the focus to the mention of the selected row, or to that row; without one, to the answer. */
  focus() {
    const row = this.selected;
    (row?.querySelector(".name") ?? row ?? byId("answer")).focus({ preventScroll: true });
  }

  /** Go to the answer of the selected row by Enter, as from the queue. */
  enter(event) {
    const isOfSelected = event.target.closest(".selected") && event.target.matches(".name");
    if (event.key !== "Enter" || !isOfSelected) return;
    event.preventDefault();
    byId("answer").focus();
  }
}
