/* Groups of equal mentions: asked of the service and kept for a while; and what stands beside their
   answers: the places of the mentions, flag and note. */

import { getJson, postJson } from "./api.js";
import { announce, button, byId, count, fill, make, plural } from "./elements.js";
import { who } from "./service.js";

const KEPT = 200; // groups that are kept, so that going back shows them at once
const SHOWN = 2; // places that are not folded away
const CELLS = 12; // columns of a row that are not

export class Groups {
  /** `address` is that of the project; `changed` is called with the answer to a remark, `act` with
   * what changes the project, which it does in its turn, `openDocument` with the number of a
   * document and a group's key.
   */
  constructor({ address, changed, act, openDocument }) {
    Object.assign(this, { address, changed, act, openDocument });
    Object.assign(this, { known: new Map(), items: new Map(), entry: null });
    this.noted = { key: null, note: "" }; // of which row the note is, and which the service has
    byId("note").addEventListener("change", () => this.keepNote());
  }

  /** The entry of a group, as the panel shows it; a promise, the same until it is forgotten. */
  get(key) {
    if (!this.known.has(key)) {
      if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value);
      const asked = getJson(`${this.address}/groups/${encodeURIComponent(key)}`);
      const entry = asked.then((group) => this.entryOf(group));
      entry.catch(() => this.known.delete(key));
      this.known.set(key, entry);
    }
    return this.known.get(key);
  }

  /** Forget groups, since something changed; all where no rows are given. */
  forget(rows) {
    if (!rows) this.known.clear();
    else for (const { key } of rows) this.known.delete(key);
  }

  entryOf({ row, prediction, places }) {
    const { document_id: id, document: number } = places[0];
    // its first place goes to a row of its own where somebody decides in that document alone
    if (!this.items.has(row.key) || this.items.get(row.key).number !== (number || undefined))
      this.items.set(row.key, this.itemOf(row, id, number));
    return { item: this.items.get(row.key), prediction, row, places };
  }

  /** What a group is of, as sessions have it; a document's text is read when it is needed. */
  itemOf(row, id, number) {
    if (!number) return { key: row.key, mention: { text: row.mention } };
    const item = { key: row.key, number, document: { id } };
    item.read = async () => {
      if (item.text !== undefined) return;
      const { text } = await getJson(`${this.address}/documents/${number}`);
      Object.assign(item, { text, document: { id, text } });
    };
    return item;
  }

  /** Show what stands beside the answer of an entry; nothing without one. */
  show(entry) {
    this.entry = entry;
    byId("remarks").hidden = !entry;
    fill(byId("places"), entry && this.placesOf(entry));
    if (!entry) return this.select(null);
    byId("flag").setAttribute("aria-pressed", entry.row.flag);
    const { key, note } = this.noted;
    const isTyped = this.isNoting || byId("note").value.trim() !== note;
    if (entry.row.key !== key || !isTyped) this.select(entry.row.key, entry.row.note);
  }

  /** The note that is typed from now on is for this row, though its answer may be shown later. */
  select(key, note = "") {
    this.noted = { key, note };
    byId("note").value = note;
  }

  /** The row of the note has another key, since something was decided on some of its mentions. */
  rename(key) {
    this.noted.key = key;
  }

  /** Whether somebody is at the note: what comes late selects no other row meanwhile. */
  get isNoting() {
    return document.activeElement === byId("note");
  }

  placesOf({ row, places }) {
    const items = places.map((place) => make("li", this.placeOf(place, row)));
    const rest = items.slice(SHOWN);
    const unshown = row.count - places.length;
    const words = `${plural(row.count - SHOWN, "more place")}`;
    return [
      make("ul.places", items.slice(0, SHOWN)),
      rest.length > 0 &&
        make(
          "details",
          make("summary", words),
          make("ul.places", rest),
          unshown > 0 && make("p.note", `and ${plural(unshown, "further one")}`),
        ),
    ];
  }

  placeOf({ document_id: id, document: number, row: line, before, text, after, cells }, row) {
    if (number) {
      const open = button(id, () => this.openDocument(number, row.key), {
        class: "node",
        title: "Show the document",
      });
      const piece = make("q", lastWords(before), make("mark", text), firstWords(after));
      return [open, " ", piece];
    }
    const others = Object.entries(cells ?? {}).filter(([, value]) => value && value !== text);
    const cell = ([name, value]) => make("div", make("dt", name), make("dd", value));
    const list = (some) => some.length > 0 && make("dl.cells", some.map(cell));
    const more = others.slice(CELLS);
    return [
      make("span.note", `Row ${line}`),
      list(others.slice(0, CELLS)),
      more.length > 0 &&
        make("details", make("summary", plural(more.length, "more column")), list(more)),
    ];
  }

  flag() {
    if (!this.entry) return announce("Select a mention first.");
    const { key, flag } = this.entry.row;
    const words = flag ? "The flag is gone." : "Flagged.";
    return this.remark({ key, kind: "flag", value: flag ? "" : "1" }, words);
  }

  keepNote() {
    const { noted } = this;
    const value = byId("note").value.trim();
    return this.act(async () => {
      const remark = { key: noted.key, kind: "note", value, before: noted.note };
      try {
        if (await this.remark(remark, "The note is kept.")) noted.note = value;
      } catch (error) {
        if (error.answer?.where !== "before") throw error;
        noted.note = error.answer.now; // which is known now; what was typed stays
        error.message += " Change what you typed, or put it in the place of that by trying again.";
        throw error;
      }
    });
  }

  /** Keep a remark, and say so; whether it was kept. */
  async remark(remark, words) {
    const reviewer = await who();
    if (!reviewer) return false;
    await this.changed(await postJson(`${this.address}/remarks`, { ...reviewer, ...remark }));
    announce(words);
    return true;
  }
}

/* The service gives so many characters before and behind a mention; a word that they cut goes. */
const AROUND = 100;
const isCut = (text) => [...text].length >= AROUND;
const lastWords = (text) => (isCut(text) ? text.replace(/^\S*\s/, "… ") : text.trimStart());
const firstWords = (text) => (isCut(text) ? text.replace(/\s\S*$/, " …") : text.trimEnd());
