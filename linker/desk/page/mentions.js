/* The left side of the first page: a text with highlighted mentions, or a table of names; and how
   many mentions are in each state. */

import { byId, count, fill, make, percent, plural, table } from "./elements.js";
import { clickedOf, markSelected, shownText } from "./places.js";
import { ASSERTED, LOOKS, answersOf, assertionOf, confidenceOf, lookOf } from "./predictions.js";
import { meaningOf, noneOf } from "./predictions.js";

const COLUMNS = ["Mention", "Concept", "Id", "State, confidence"];

export class MentionsView {
  /** `select` is called with the number of an entry that was clicked. */
  constructor(select) {
    this.current = -1;
    byId("results").addEventListener("click", (event) => {
      const mention = event.target.closest("[data-entries]");
      if (!mention) return;
      event.preventDefault();
      select(clickedOf(mention, this.current));
    });
  }

  /** Show entries in their text, or, where that is null, as a table. */
  show(entries, text) {
    this.entries = entries;
    byId("summary").textContent = plural(entries.length, "mention");
    fill(byId("legend"), legendOf(entries));
    const numbers = entries.map((_, number) => number);
    if (text === null)
      return fill(byId("results"), table("table.names", COLUMNS, numbers.map((n) => this.row(n))));
    const marks = numbers.map((number) => ({ number, spans: entries[number].spans }));
    const of = (number) => {
      const { prediction } = entries[number];
      return { look: lookOf(prediction), assertion: prediction.assertion, link: this.link(number) };
    };
    return fill(byId("results"), make("p.text", shownText(text, marks, of)));
  }

  /** Mark an entry as the selected one; return its link. */
  select(current) {
    this.current = current;
    markSelected(byId("results"), current);
    return byId("results").querySelector(`[data-anchor="${current}"]`);
  }

  link(number) {
    const { prediction } = this.entries[number];
    const asserted = ASSERTED[prediction.assertion];
    const mention = prediction.mention + (asserted ? `, ${asserted}` : "");
    const label = `${mention}: ${answerInWords(prediction)}; ${LOOKS[lookOf(prediction)]}`;
    const title = [label, meaningOf(prediction.assertion)].filter(Boolean).join(". ");
    return { href: "#answer", "aria-label": label, title };
  }

  row(number) {
    const { prediction } = this.entries[number];
    const look = lookOf(prediction);
    const [answers, confidence] = [answersOf(prediction), confidenceOf(prediction)];
    const names = answers.map((answer) => answer?.name ?? noneOf(prediction));
    const ids = answers.map((answer) => answer?.concept_id ?? "–");
    const attributes = { "data-entries": number, "data-anchor": number, "data-state": look };
    const link = make("a.mention", { ...attributes, ...this.link(number) }, prediction.mention);
    return [
      make("th", { scope: "row" }, link, assertionOf(prediction.assertion)),
      make("td", names.join(" | ")),
      make("td", ids.flatMap((id, part) => [part > 0 && " | ", make("code", id)])),
      make("td.state", LOOKS[look], confidence !== null && make("span.facts", percent(confidence))),
    ];
  }
}

function answerInWords(prediction) {
  const names = answersOf(prediction).map((answer) => answer?.name ?? noneOf(prediction));
  const confidence = confidenceOf(prediction);
  return names.join(" and ") + (confidence === null ? "" : `, ${percent(confidence)}`);
}

/** How many mentions look alike, in the colours of each look. */
function legendOf(entries) {
  const looks = entries.map(({ prediction }) => lookOf(prediction));
  return Object.entries(LOOKS).flatMap(([look, words]) => {
    const number = looks.filter((other) => other === look).length;
    return number ? [make("span.mention", { "data-state": look }, `${words}: ${count(number)}`)] : [];
  });
}
