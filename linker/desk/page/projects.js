/* The projects of the service: their list, new ones, and those that are deleted. */

import { getJson, send } from "./api.js";
import { announce, ask, attempt, button, byId } from "./elements.js";
import { count, fill, make, percent, plural, table } from "./elements.js";
import * as files from "./files.js";
import { tab } from "./keeping.js";
import { showNotes } from "./overview.js";
import { askReading } from "./reading.js";
import { knownReviewer, reviewer } from "./service.js";
import { idOf, kindOf } from "./text.js";

const LOOK_AGAIN = 2000; // milliseconds, while a project is being linked
const NOTES = "linker.notes"; // kept in the tab until the project that was made is open
const KINDS = { table: "a table", list: "a list of names", documents: "documents" };

const addressOf = (id) => `review?${new URLSearchParams({ project: id })}`;

/** Show the list of projects, and again while some are being linked. */
export async function showProjects() {
  const { projects } = await getJson("projects");
  const rows = projects.map((project) => rowOf(project));
  const unseen = make("span.unseen", "Delete");
  const none = "There are none yet. Drop a file here, and it becomes the first one.";
  const columns = ["Project", "What it is", "Decided", unseen];
  fill(
    byId("project-list"),
    rows.length ? table("table.projects", columns, rows) : make("p.note", none),
  );
  if (projects.some(({ linked }) => linked < 1))
    setTimeout(() => attempt(showProjects), LOOK_AGAIN);
}

function rowOf(project) {
  const { id, name, kind, mentions, decided, linked, created, problem } = project;
  const meter = { max: Math.max(mentions, 1), value: decided, "aria-label": `Decided in ${name}` };
  const remove = button("Delete", () => attempt(() => removed(project)), {
    "aria-label": `Delete ${name}`,
  });
  return [
    make(
      "th",
      { scope: "row" },
      make("a", { href: addressOf(id) }, name),
      problem && make("span.facts", problem),
    ),
    make("td", KINDS[kind], make("span.facts", created.slice(0, 10))),
    make(
      "td",
      make("progress", meter),
      make("span.facts", `${count(decided)} of ${count(mentions)}`),
      linked < 1 && make("span.facts", `being linked: ${percent(linked)}`),
    ),
    make("td", remove),
  ];
}

async function removed(project) {
  byId("deleting-words").textContent =
    `${project.name} goes with its files, marks, flags and notes. What was decided in it stays ` +
    "among the decisions.";
  if (!(await ask("deleting"))) return;
  await send(`projects/${project.id}`, { method: "DELETE" });
  await showProjects();
  byId("projects-title").focus();
  announce(`${project.name} is deleted.`);
}

/** Listen for files and texts that become projects. */
export function listen(limits) {
  const asked = () => ({
    name: byId("new-name").value,
    type: byId("new-type").value,
  });
  const make = (sources) => attempt(() => openNew(sources, { ...asked(), limits }));
  files.listen((chosen) => {
    const encoding = byId("new-encoding").value.trim();
    make(chosen.map((file) => ({ file: file.name, content: file, encoding })));
  });
  byId("paste").addEventListener("click", () => {
    const content = byId("new-text").value;
    if (!content.trim()) return announce("The box is empty: paste names or a text first.");
    byId("new-name").value ||= named("pasted");
    return make([pasted(content)]);
  });
}

/** A source of what somebody pasted. */
export function pasted(content) {
  const file = kindOf(content) === "pubtator" ? "pasted.pubtator.txt" : `${idOf(content)}.txt`;
  return { file, content };
}

/** A name for what has none of its own: names of projects are not there twice. */
export function named(what) {
  const time = new Date().toISOString().slice(0, 19).replace("T", " ");
  return `${what} of ${time}`;
}

/** Make a project of each of the sources {file, content}, of documents one of all, and open it, or
 * the list, once somebody has seen what they are read as. A source of which none can be made is told,
 * and the others are taken. One of many files that was given no name is called after their number. */
export async function openNew(given, options) {
  const sources = await askReading(given, (source) => look(source, options));
  if (!sources) return announce("Nothing was kept.");
  const [projects, notes] = [new Map(), []]; // by their ids: names, and how many files
  let [stack, failure] = [null, null];
  for (const source of sources) {
    try {
      const named = projects.size ? { ...options, name: "" } : options;
      const made = await sendNew(source, stack, named);
      if (!made) continue;
      if (made.kind === "documents") stack = made.id;
      const { files } = projects.get(made.id) ?? { files: 0 };
      projects.set(made.id, { name: made.name, files: files + 1 });
      notes.push(...made.notes);
      if (made.repeated) notes.push("to take those decisions, add the file to its project once more");
    } catch (error) {
      failure = error;
      notes.push(`Not taken: ${source.file}. ${error.message}`);
    }
  }
  if (failure && !projects.size) throw failure;
  const ofMany = projects.get(stack);
  if (ofMany?.files > 1 && !options.name) {
    ofMany.name = named(plural(ofMany.files, "file"));
    await send(`projects/${stack}/name?${new URLSearchParams({ name: ofMany.name })}`, { method: "POST" });
  }
  const made = [...projects.values()].map(({ name }) => name);
  if (made.length > 1 || failure) notes.unshift(`made: ${made.join(", ")}`);
  tab.set(NOTES, JSON.stringify(notes));
  if (projects.size) location.assign(made.length > 1 ? "review" : addressOf([...projects.keys()][0]));
}

/** Send a source to the project of the documents before it, or, where it is none, as one of its own. */
async function sendNew(source, stack, options) {
  if (!stack) return sendSource("projects", source, options);
  try {
    return await sendSource(`projects/${stack}/sources`, source, { ...options, name: "", type: "" });
  } catch (error) {
    if (error.answer?.where !== "kind") throw error;
    return sendSource("projects", source, options);
  }
}

/** Show what was odd about the files of which a project was just made. */
export function showNotesOfNew() {
  showNotes(JSON.parse(tab.get(NOTES)) ?? []);
  tab.set(NOTES, null);
}

/** What the service reads in a source, which may be for a project. */
export async function look(source, { limits, project = "" }) {
  return (await post("projects/preview", source, { project }, limits)).json();
}

/** Send a source {file, content, column, encoding, read_as} to an address that takes files. */
function post(path, { content, ...about }, more, limits) {
  files.checkSize(content.size ?? new Blob([content]).size, { body: limits?.file });
  const said = Object.entries({ ...about, ...more }).filter(([, value]) => value);
  const request = { method: "POST", body: content, type: "application/octet-stream" };
  return send(`${path}?${new URLSearchParams(said)}`, request);
}

/** Send a source to an address that takes files, and ask for the column of a table where it must be
 * named, and for who decided what a file says that names nobody; what the service answers, or
 * undefined where none of these was given. With `again` decisions are taken, too, that were made
 * before and hold no more.
 */
export async function sendSource(path, source, options) {
  const { name = "", type = "", limits, again = false } = options;
  announce(`Reading ${source.file} …`);
  try {
    const more = { name: name.trim(), type: type.trim(), again, reviewer: knownReviewer() };
    return await (await post(path, source, more, limits)).json();
  } catch (error) {
    const { columns, where } = error.answer ?? {};
    if (where === "reviewer" && !knownReviewer() && (await reviewer()))
      return sendSource(path, source, options);
    if (!columns) throw error;
    const column = await files.askColumn(source.file, error.answer);
    if (column) return sendSource(path, { ...source, column }, options);
    return void announce("Nothing was kept: no column was chosen.");
  }
}
