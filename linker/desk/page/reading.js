/* What files and pasted texts are read as: it is shown before anything is kept, and people may say
   otherwise. */

import { announce, ask, byId, fill, make, plural } from "./elements.js";

const KINDS = { list: "names, one a line", table: "a table", documents: "running text" };

const FEW = 3; // files of one ending that have a choice each; of more the first ones are shown

/** Show what sources {file, content, encoding} are read as; the sources with `read_as` and `column`,
 * or null where somebody went back.
 *
 * `look` asks the service what it reads in a source. A source that cannot be read stays as it is; one
 * alone that cannot be read is an error. `wanted` is the kind of the project to which they are added:
 * a text is read as this, unless somebody says otherwise. A table stays one, which may have decisions.
 */
export async function askReading(sources, look, wanted = "") {
  announce("Reading …");
  const readings = groupsOf(sources).map((group) => new Reading(group, look));
  for (const reading of readings) await reading.begin(wanted);
  if (sources.length === 1 && readings[0].problem) throw readings[0].problem;
  fill(byId("readings"), readings.map(({ element }) => element));
  announce("");
  if (!(await ask("reading"))) return null;
  return readings.flatMap((reading) => reading.sources);
}

/** Sources that are read alike: the many of one ending together, each other one by itself. */
function groupsOf(sources) {
  const ofEndings = new Map();
  for (const source of sources) {
    const ending = endingOf(source);
    ofEndings.set(ending, [...(ofEndings.get(ending) ?? []), source]);
  }
  const groups = [];
  for (const source of sources) {
    const together = ofEndings.get(endingOf(source));
    if (together.length <= FEW) groups.push([source]);
    else if (source === together[0]) groups.push(together);
  }
  return groups;
}

const endingOf = ({ file }) => (file.includes(".") ? file.slice(file.lastIndexOf(".")).toLowerCase() : "");

/** What a group of sources is read as, with the choices for all of them. */
class Reading {
  constructor(group, look) {
    this.group = group;
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
    const [first] = group;
    const name = group.length > 1 ? `${plural(group.length, "file")} ${endingOf(first)}` : first.file;
    this.element = make("fieldset", make("legend", name), this.choices, this.sample, this.count);
  }

  /** The sources as people want them read. */
  get sources() {
    if (this.choices.hidden || (this.group.length === 1 && this.isAsFound)) return this.group;
    const column = this.kind.value === "table" ? this.column.value : "";
    return this.group.map((source) => ({ ...source, read_as: this.kind.value, column }));
  }

  /** Whether the choices are what the service would do by itself. */
  get isAsFound() {
    const { kind, column } = this.first;
    return this.kind.value === kind && (kind !== "table" || this.column.value === column);
  }

  /** Show what the service reads in the sources by itself, or the wanted kind in a text. Sources that
   * look unlike each other are running text. */
  async begin(wanted) {
    await this.look();
    if (this.problem) return;
    [this.first] = this.found;
    const { kind, kinds } = this.first;
    const isMixed = this.found.some((each) => each.kind !== kind);
    const better = wanted || (isMixed ? "documents" : kind); // a short text may look like a name
    const isOther = better !== kind && kind !== "table" && kinds.includes(better);
    if (isOther || isMixed) await this.look({ read_as: isOther ? better : kind });
  }

  /** Show what is in the first sources; `said` is what people say of all. */
  async look(said = {}) {
    const number = ++this.latest;
    const found = [];
    let problem = null; // of the last one that cannot be read
    for (const source of this.group.slice(0, FEW)) {
      try {
        found.push(await this.ask({ ...source, ...said }));
      } catch (error) {
        problem = error;
      }
    }
    if (number !== this.latest) return;
    if (found.length) this.show(found);
    else this.showProblem(problem);
  }

  show(found) {
    const [{ kind, kinds, column, columns, suggested }] = found;
    this.problem = null;
    this.found = found;
    this.choices.hidden = false;
    fill(this.kind, kinds.map((each) => optionOf(each, KINDS[each], each === kind)));
    this.columnField.hidden = this.column.disabled = kind !== "table";
    const chosen = column ?? suggested ?? "";
    const named = columns.map((name, place) => {
      const value = valueOf(columns, place);
      return optionOf(value, name, value === chosen);
    });
    fill(this.column, !chosen && optionOf("", "choose …", true), named);
    fill(this.sample, found.flatMap(({ rows }) => rows.map((text) => make("li", text))));
    this.count.textContent = this.counted(found);
  }

  /** How much there is, in words. */
  counted(found) {
    if (found.length === 1) return countOf(found[0]);
    const rest = this.group.length - found.length;
    return `The first that can be read: ${found.map(countOf).join(", ")}; ${plural(rest, "file")} more.`;
  }

  showProblem(error) {
    this.problem = error;
    this.columnField.hidden = this.column.disabled = true;
    fill(this.sample);
    this.count.textContent = error.message;
  }
}

const THINGS = { list: "name", table: "row", documents: "document" };
const countOf = ({ kind, count }) => plural(count, THINGS[kind]);

const optionOf = (value, text, selected) =>
  make("option", { value, selected, disabled: !text }, text || "(no name)");

/** What names a column: its name, or its number where others have that, too. */
const valueOf = (columns, place) =>
  columns.indexOf(columns[place]) === columns.lastIndexOf(columns[place])
    ? columns[place]
    : String(place + 1);
