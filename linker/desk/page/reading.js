/* What files and pasted texts are read as: it is shown before anything is kept, and people may say
   otherwise. */

import { announce, ask, byId, fill, make, plural } from "./elements.js";

const KINDS = { list: "names, one a line", table: "a table", documents: "running text" };

/** Show what sources {file, content, encoding} are read as; the sources with `read_as` and `column`,
 * or null where somebody went back.
 *
 * `look` asks the service what it reads in a source. A source that cannot be read stays as it is; one
 * alone that cannot be read is an error.
 */
export async function askReading(sources, look) {
  announce("Reading …");
  const readings = sources.map((source) => new Reading(source, look));
  for (const reading of readings) await reading.look();
  if (readings.length === 1 && readings[0].problem) throw readings[0].problem;
  fill(byId("readings"), readings.map(({ element }) => element));
  announce("");
  if (!(await ask("reading"))) return null;
  return readings.map((reading) => reading.source);
}

class Reading {
  constructor(source, look) {
    this.given = source;
    this.ask = look;
    this.latest = 0; // the number of the last look
    this.kind = make("select", { onchange: () => this.look({ read_as: this.kind.value }) });
    const told = () => this.look({ read_as: "table", column: this.column.value });
    this.column = make("select", { required: true, onchange: told });
    this.columnField = make("label.field", "Names in ", this.column);
    this.sample = make("ol.sample");
    this.count = make("p.note", { role: "status" });
    this.choices = make("div.bar", make("label.field", "Read as ", this.kind), this.columnField);
    this.choices.hidden = true; // until it is known what there is to choose from
    const legend = make("legend", source.file);
    this.element = make("fieldset", legend, this.choices, this.sample, this.count);
  }

  /** The source as people want it read. */
  get source() {
    if (this.choices.hidden) return this.given;
    const column = this.kind.value === "table" ? this.column.value : "";
    return { ...this.given, read_as: this.kind.value, column };
  }

  /** Show what is in the source; `said` is what people say of it. */
  async look(said = {}) {
    const number = ++this.latest;
    try {
      const found = await this.ask({ ...this.given, ...said });
      if (number === this.latest) this.show(found);
    } catch (error) {
      if (number === this.latest) this.showProblem(error);
    }
  }

  show({ kind, kinds, count, rows, column, columns, suggested }) {
    this.problem = null;
    this.choices.hidden = false;
    fill(this.kind, kinds.map((each) => optionOf(each, KINDS[each], each === kind)));
    this.columnField.hidden = this.column.disabled = kind !== "table";
    const chosen = column ?? suggested ?? "";
    const named = columns.map((name, place) => {
      const value = valueOf(columns, place);
      return optionOf(value, name, value === chosen);
    });
    fill(this.column, !chosen && optionOf("", "choose …", true), named);
    fill(this.sample, rows.map((text) => make("li", text)));
    const things = { list: "name", table: "row", documents: "document" }[kind];
    this.count.textContent = plural(count, things);
  }

  showProblem(error) {
    this.problem = error;
    this.columnField.hidden = this.column.disabled = true;
    fill(this.sample);
    this.count.textContent = error.message;
  }
}

const optionOf = (value, text, selected) =>
  make("option", { value, selected, disabled: !text }, text || "(no name)");

/** What names a column: its name, or its number where others have that, too. */
const valueOf = (columns, place) =>
  columns.indexOf(columns[place]) === columns.lastIndexOf(columns[place])
    ? columns[place]
    : String(place + 1);
