/* The search box: concepts of the dictionary, the best first, chosen by arrows and Enter. */

import { getJson } from "./api.js";
import { announce, attempt, button, fill, make, plural } from "./elements.js";

const PAUSE = 200; // milliseconds without a key, after which what was typed is looked for
const MOST = 10;
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** Whether the middle of an element is where somebody who looks at the window sees it. */
function isInSight(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  const topmost = document.elementFromPoint(left + width / 2, top + height / 2);
  return element.contains(topmost);
}

export class SearchBox {
  /** Search as somebody types in `input`, and show the concepts in `list`; `actions` are {about,
   * choose}, each called with the id and the name of a concept.
   */
  constructor(input, list, actions) {
    // `shown` is the text of which the concepts are in the list, null where there is none
    Object.assign(this, { input, list, actions, latest: 0, shown: null, typing: null });
    input.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.start(), PAUSE);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.enter();
    });
    for (const place of [input, list])
      place.addEventListener("keydown", (event) => this.move(event));
  }

  get text() {
    return this.input.value.trim();
  }

  /** Empty the box, and drop the answers that are to come. */
  clear() {
    clearTimeout(this.typing);
    this.latest++;
    this.input.value = "";
    this.show(null, []);
  }

  /** Choose the first concept, which somebody sees; where it is out of sight, bring it there, and
   * where the concepts of an earlier text are shown, look for the new one. */
  enter() {
    const first = this.list.querySelector(".choose");
    if (!first || this.shown !== this.text) return this.start();
    if (isInSight(first)) return first.click();
    return this.bringIntoSight();
  }

  /** Bring the concepts into sight; where there is no room for all, the first ones. */
  bringIntoSight() {
    this.list.lastElementChild?.scrollIntoView({ block: "nearest" });
    this.input.scrollIntoView({ block: "nearest" });
  }

  move(event) {
    const step = STEPS[event.key];
    if (!step || event.isComposing) return;
    const places = [this.input, ...this.list.querySelectorAll(".choose")];
    places[places.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  }

  start() {
    clearTimeout(this.typing);
    return attempt(() => this.search());
  }

  async search() {
    const [number, text] = [++this.latest, this.text];
    const asked = new URLSearchParams({ q: text, limit: MOST });
    const { concepts } = text ? await getJson(`search?${asked}`) : { concepts: [] };
    if (number !== this.latest) return;
    this.show(text || null, concepts);
    this.bringIntoSight();
    if (text) announce(`${plural(concepts.length, "concept")} found.`);
  }

  show(text, concepts) {
    this.shown = text;
    this.list.dataset.text = text ?? "";
    const nothing = text && !concepts.length && make("li.none", "No concept is called so.");
    fill(this.list, concepts.map((concept) => this.rowOf(concept)), nothing);
  }

  rowOf({ id, name, matched_name: matched }) {
    const { about, choose } = this.actions;
    const isOther = matched && matched.toLowerCase() !== name.toLowerCase();
    return make(
      "li",
      make(
        "div.about",
        button(name, () => about(id, name), { class: "name", title: "Show this concept" }),
        make("span.facts", make("code", id), isOther && ` by “${matched}”`),
      ),
      button("Choose", () => choose(id, name), { "aria-label": `Choose ${name}`, class: "choose" }),
    );
  }
}
