/* The left side: texts with highlighted mentions, or a table of names, a page at a time; and how
   many mentions are in each state. */

import { byId, count, fill, make, percent, plural, table } from "./elements.js";
import { clickedOf, markSelected, shownText } from "./places.js";
import { ASSERTED, LOOKS, answersOf, assertionOf, confidenceOf, lookOf } from "./session.js";
import { meaningOf, noneOf } from "./session.js";

const PAGE = { characters: 20_000, marks: 100 }; // at most, unless a single text has more
const COLUMNS = ["Mention", "Concept", "Id", "State, confidence"];

export class MentionsView {
  /** `select` is called with the number of an entry that was clicked. */
  constructor(select) {
    Object.assign(this, { entries: [], pages: [], page: 0, current: -1 });
    byId("results").addEventListener("click", (event) => {
      const mention = event.target.closest("[data-entries]");
      if (!mention) return;
      event.preventDefault();
      select(clickedOf(mention, this.current));
    });
    byId("previous-page").addEventListener("click", () => this.turn(this.page - 1));
    byId("next-page").addEventListener("click", () => this.turn(this.page + 1));
  }

  /** Show the entries of a session; the page that was open stays open. */
  show(session, entries, current) {
    Object.assign(this, { entries, current });
    this.pages = pagesOf(session?.items ?? [], entries);
    const page = this.pageOf(current);
    this.turn(page < 0 ? Math.min(this.page, this.pages.length - 1) : page);
    byId("summary").textContent = plural(entries.length, "mention");
    fill(byId("legend"), legendOf(entries));
  }

  /** Mark an entry as the selected one, on its page; return its link. */
  select(current) {
    this.current = current;
    const page = this.pageOf(current);
    if (page === this.page || page < 0) markSelected(byId("results"), this.current);
    else this.turn(page);
    return byId("results").querySelector(`[data-anchor="${current}"]`);
  }

  pageOf(number) {
    return this.pages.findIndex((blocks) => blocks.some((b) => b.entries.includes(number)));
  }

  turn(page) {
    this.page = Math.max(0, Math.min(page, this.pages.length - 1));
    const blocks = this.pages[this.page] ?? [];
    const rows = (numbers) => numbers.map((number) => this.row(number));
    const shown = (block) =>
      block.item ? this.textBlock(block) : table("table.names", COLUMNS, rows(block.entries));
    fill(byId("results"), blocks.map(shown));
    byId("pager").hidden = this.pages.length < 2;
    byId("page-number").textContent = `Page ${count(this.page + 1)} of ${count(this.pages.length)}`;
    this.allow("previous-page", this.page > 0, "next-page");
    this.allow("next-page", this.page < this.pages.length - 1, "previous-page");
    markSelected(byId("results"), this.current);
  }

  /** Enable or disable a button; the focus goes to the other one, rather than nowhere. */
  allow(id, possible, other) {
    const focused = document.activeElement === byId(id);
    byId(id).disabled = !possible;
    if (focused && !possible) byId(other).focus();
  }

  textBlock({ item, entries }) {
    const marks = entries.map((number) => ({ number, spans: this.entries[number].spans }));
    const of = (number) => {
      const { prediction } = this.entries[number];
      const { assertion } = prediction;
      return { look: lookOf(prediction), assertion, link: this.link(number) };
    };
    const title = item.pasted ? "Text" : `Document ${item.document.id}`;
    return make("article", make("h3", title), make("p.text", shownText(item.text, marks, of)));
  }

  link(number) {
    const { prediction, said } = this.entries[number];
    const state = LOOKS[lookOf(prediction)] + (said && `: ${said}`);
    const asserted = ASSERTED[prediction.assertion];
    const mention = prediction.mention + (asserted ? `, ${asserted}` : "");
    const label = `${mention}: ${answerInWords(prediction)}; ${state}`;
    const title = [label, meaningOf(prediction.assertion)].filter(Boolean).join(". ");
    return { href: "#answer", "aria-label": label, title };
  }

  row(number) {
    const { prediction, said } = this.entries[number];
    const look = lookOf(prediction);
    const [answers, confidence] = [answersOf(prediction), confidenceOf(prediction)];
    const names = answers.map((answer) => answer?.name ?? noneOf(prediction));
    const ids = answers.map((answer) => answer?.concept_id ?? "–");
    const attributes = { "data-entries": number, "data-anchor": number, "data-state": look };
    const link = make("a.mention", { ...attributes, ...this.link(number) }, prediction.mention);
    return [
      make("th", { scope: "row" }, link, assertionOf(prediction.assertion)),
      make("td", names.join(" | "), said && make("span.facts", `Reviewed: ${said}`)),
      make("td", ids.flatMap((id, part) => [part > 0 && " | ", make("code", id)])),
      make("td.state", LOOKS[look], confidence !== null && make("span.facts", percent(confidence))),
    ];
  }
}

/** The pages of all items: lists of blocks, which are texts or rows of a table. */
function pagesOf(items, entries) {
  const numbers = new Map(items.map((item) => [item, []]));
  entries.forEach((entry, number) => numbers.get(entry.item).push(number));
  const pages = [];
  let [marks, characters] = [Infinity, 0];
  const add = (block, length) => {
    if (marks + block.entries.length > PAGE.marks || characters + length > PAGE.characters) {
      pages.push([]);
      [marks, characters] = [0, 0];
    }
    marks += block.entries.length;
    characters += length;
    const last = pages.at(-1).at(-1);
    if (last && !last.item && !block.item) last.entries.push(...block.entries);
    else pages.at(-1).push(block);
  };
  for (const item of items) {
    const isPlaced = (number) => item.document && entries[number].spans.length > 0;
    const placed = numbers.get(item).filter(isPlaced);
    if (item.document) add({ item, entries: placed }, item.text.length);
    for (const number of numbers.get(item)) if (!isPlaced(number)) add({ entries: [number] }, 0);
  }
  return pages;
}

function answerInWords(prediction) {
  const names = answersOf(prediction).map((answer) => answer?.name ?? noneOf(prediction));
  const confidence = confidenceOf(prediction);
  return names.join(" and ") + (confidence === null ? "" : `, ${percent(confidence)}`);
}

/** How many mentions look alike, in the colours of each look. */
function legendOf(entries) {
  const numbers = {};
  for (const { prediction } of entries) {
    const look = lookOf(prediction);
    numbers[look] = (numbers[look] ?? 0) + 1;
  }
  const looks = Object.keys(LOOKS).filter((look) => numbers[look]);
  const words = (look) => `${LOOKS[look]}: ${count(numbers[look])}`;
  return looks.map((look) => make("span.mention", { "data-state": look }, words(look)));
}
