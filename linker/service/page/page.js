/* The page: knows the session, the selected mention and the model, and calls the other modules for
   what is typed, dropped, clicked, or pressed. */

import { Decisions } from "./decisions.js";
import { download } from "./downloads.js";
import * as elements from "./elements.js";
import * as files from "./files.js";
import * as keeping from "./keeping.js";
import * as keyboard from "./keyboard.js";
import { MentionsView } from "./mentions.js";
import { Panel } from "./panel.js";
import { named, openNew } from "./projects.js";
import { listenReviewer, readModel } from "./service.js";
import { Session, answersOf, noneOf, scopeOf } from "./session.js";
import { idOf, kindOf, linesOf } from "./text.js";
import { readNames, said } from "./verdicts.js";

const { announce, attempt, byId, plural } = elements;
const REDRAW = 1000; // milliseconds between two looks at a list that is being linked

const OPTIONS = ["read-as", "document-id", "scope", "format"]; // kept with what was entered

// `files` are those that are linked, [] for what is in the box, null where nothing is
const view = { model: null, session: null, entries: [], current: -1, running: null, files: null };
let writing = null; // the timer of keeping what is typed
const idsOfTexts = new Map(); // the ids of the documents that were linked, by their texts
const panel = new Panel({ act: (action) => action(), decide, withdraw });
const mentionsView = new MentionsView((number) => select(number, { toAnswer: true }));
const decisions = new Decisions(changed);

// what is linked

/** Link what is in the box; `place` is the number of the entry to select. */
async function linkTyped(place = 0) {
  const text = byId("input").value;
  if (!text.trim()) {
    byId("input").focus();
    return announce("The box is empty: paste a text or a list of names first.");
  }
  files.checkSize(new Blob([text]).size, view.model?.limits);
  const chosen = byId("read-as").value;
  const kind = chosen === "auto" ? kindOf(text) : chosen;
  if (kind === "pubtator") {
    const sources = await parsed([{ name: "pasted.pubtator.txt", content: text }]);
    return sources && link(sources, { place });
  }
  if (kind === "names") {
    const sources = linesOf(text).map((line) => ({ mention: { text: line } }));
    return link(sources, { read: ", read as a list of names", place });
  }
  const id = (byId("document-id").value ||= idsOfTexts.get(text) ?? idOf(text));
  idsOfTexts.set(text, id);
  return link([{ document: { id, text }, pasted: true }], { read: ", read as a text", place });
}

/** Take the contents of files that were chosen, so that the files may change or go. */
async function takeFiles(chosen) {
  for (const file of chosen) files.checkSize(file.size, view.model?.limits);
  const read = async (file) => ({ name: file.name, content: await file.arrayBuffer() });
  return linkFiles(await Promise.all(chosen.map(read)));
}

async function linkFiles(read, place = 0) {
  const sources = await parsed(read);
  return sources && link(sources, { read: leftOut(read), files: read, place });
}

/** What of files was left out, in words behind others. */
function leftOut(read) {
  const cells = read.reduce((sum, { tooLong }) => sum + tooLong, 0);
  return cells ? `; left out, as too long for a name: ${plural(cells, "cell")}` : "";
}

/** The sources in files; null where there are none. */
async function parsed(read) {
  const sources = [];
  for (const file of read) {
    announce(`Reading ${file.name} …`);
    const inFile = await files.parse(file);
    if (!inFile) return void announce("Nothing was linked: no column was chosen.");
    sources.push(...inFile);
  }
  if (sources.length) return sources;
  return void announce(`No mention is in ${read.map(({ name }) => name).join(", ")}${leftOut(read)}.`);
}

/** Link sources; `read` says how a text in the box was read, `files` are those that were chosen. */
async function link(sources, { read = "", files: chosen = [], place }) {
  view.running?.abort();
  Object.assign(view, { files: chosen, running: null });
  keepEntered(place);
  const run = (view.running = new AbortController());
  const session = new Session(sources, view.model?.limits, chosen);
  let seen = 0;
  const progress = (share) => {
    if (run.signal.aborted) return;
    if (!seen) {
      Object.assign(view, { session, current: -1 });
      offerFormats(session);
    }
    if (Date.now() - seen > REDRAW) redraw();
    seen ||= Date.now();
    announce(`Linking … ${elements.percent(share)}`);
  };
  announce("Linking …");
  await session.link(session.items, { signal: run.signal, progress });
  if (run.signal.aborted) return;
  byId("source").open = false;
  redraw();
  await attempt(start);
  await attempt(showDecisions);
  if (run.signal.aborted) return;
  view.running = null;
  const kept = Math.max(0, Math.min(place, view.entries.length - 1));
  select(view.current > 0 ? view.current : kept, { toText: true });
  announce(
    view.entries.length
      ? `${plural(view.entries.length, "mention")} linked${read}. Press ? for the keys.`
      : "No mention was found. If these are names, read them as a list of names.",
  );
}

/** Offer the formats in which a session can be saved; a table keeps its own. */
function offerFormats(session) {
  const [table, rows] = [session.tables.length > 0, !session.isAllTables];
  const { hasDocuments } = session;
  const offered = { table, tsv: rows, csv: rows && !hasDocuments, pubtator: hasDocuments };
  const options = [...byId("format").options];
  for (const option of options) option.disabled = offered[option.value] === false;
  if (byId("format").selectedOptions[0]?.disabled !== false)
    byId("format").value = options.find((option) => !option.disabled).value;
}

// what is kept

/** Keep where the user is; not while linking, when the entry to select may not be there yet. */
function keepPlace(current) {
  if (view.running) return;
  const options = Object.fromEntries(OPTIONS.map((id) => [id, byId(id).value]));
  keeping.keepPlace({ current, options });
}

function keepEntered(current) {
  clearTimeout(writing);
  keeping.keepEntered({ text: byId("input").value, files: view.files });
  keepPlace(current);
}

/** Take up what was kept: what is in the box, the options, and what was linked. */
async function takeUp() {
  const kept = await keeping.readKept();
  if (!kept) return start();
  byId("input").value = kept.text;
  view.files = kept.files;
  for (const [id, value] of Object.entries(kept.options)) byId(id).value = value;
  await start();
  if (!kept.files) return undefined;
  return kept.files.length ? linkFiles(kept.files, kept.current) : linkTyped(kept.current);
}

// what is selected

function redraw() {
  const entries = view.session?.entries() ?? [];
  view.entries = entries.map((entry) => ({ ...entry, said: said(entry.prediction) }));
  byId("output").hidden = !view.session;
  const focused = document.activeElement?.closest("#results");
  mentionsView.show(view.session, view.entries, view.current);
  select(Math.min(Math.max(view.current, 0), view.entries.length - 1), { toText: focused });
}

function select(number, { toText = false, toAnswer = false } = {}) {
  const entry = view.entries[number];
  view.current = entry ? number : -1;
  const link = mentionsView.select(view.current);
  panel.show(entry, number, view.entries.length);
  keepPlace(view.current);
  if (toText && link) link.focus();
  if (toAnswer) byId("answer").focus();
  if (toAnswer && byId("back").offsetParent) byId("answer").scrollIntoView(); // one column
  return link;
}

function move(step) {
  const number = view.current + step;
  if (!view.entries[number]) return announce(step > 0 ? "The last mention." : "The first mention.");
  select(number, { toText: true })?.scrollIntoView({ block: "nearest" });
  const { prediction } = view.entries[number];
  const names = answersOf(prediction).map((answer) => answer?.name ?? noneOf(prediction));
  announce(`${prediction.mention}: ${names.join(" and ")}`);
  return true;
}

function nextConflict() {
  const isDisputed = ({ prediction }) => prediction.state === "disputed";
  const places = view.entries.flatMap((entry, number) => (isDisputed(entry) ? [number] : []));
  if (!places.length) return announce("No mention is in conflict.");
  const number = places.find((place) => place > view.current) ?? places[0];
  select(number, { toText: true })?.scrollIntoView({ block: "nearest" });
  const { prediction, said } = view.entries[number];
  return announce(`${prediction.mention}: reviewers disagree: ${said}.`);
}

// what is decided

async function showDecisions() {
  await readNames((view.session?.entries() ?? []).map(({ prediction }) => prediction));
  redraw();
}

async function changed(mention) {
  await view.session?.refresh(mention);
  await showDecisions();
}

function decide(entry, { mention, ids, accepted, predicate, isHere, settles }, words) {
  const scope = isHere ? scopeOf(entry) : "";
  return decisions.make({ mention, ids, accepted, predicate, scope, settles }, words);
}

function withdraw({ id, mention }) {
  return attempt(() => decisions.withdraw([id], mention, "The decision was withdrawn."));
}

const actions = {
  ...panel.actions,
  next: () => move(1),
  previous: () => move(-1),
  undo: () => attempt(() => decisions.undo()),
  conflict: nextConflict,
  help: () => byId("help").showModal(),
  back: () => select(view.current, { toText: true }) ?? false,
};

// what else can be done

async function save() {
  announce("Writing the file …");
  await view.session.link(view.session.items); // others may have decided
  await showDecisions();
  const names = await download(view.session, view.entries, byId("format").value);
  announce(`Saved as ${names.join(" and ")}.`);
}

/** Keep what is linked as a project, and open it. */
function keepAsProject() {
  const id = byId("document-id").value || "pasted";
  const file = view.session.hasDocuments ? `${id}.txt` : "names.txt";
  const typed = [{ file, content: byId("input").value }];
  const sources = view.files.map(({ name: file, ...source }) => ({ file, ...source }));
  const ofFiles = sources.length > 1 ? plural(sources.length, "file") : sources[0]?.file;
  const name = named(ofFiles ?? (view.session.hasDocuments ? id : "names"));
  const options = { name, limits: view.model.limits };
  return openNew(sources.length ? sources : typed, options);
}

/** Empty the page, and forget what was entered. */
function startAnew() {
  view.running?.abort();
  Object.assign(view, { session: null, files: null, running: null });
  byId("source").open = true;
  byId("input").select();
  document.execCommand("insertText", false, ""); // which Ctrl+Z undoes
  byId("document-id").value = "";
  redraw();
  keeping.forget();
  byId("input").focus();
  announce("Emptied. Paste a text or names, and press Link (Ctrl+Enter).");
}

async function start() {
  view.model = await readModel();
  panel.canDecide = view.model.decisions;
  for (const id of ["to-projects", "keep"]) byId(id).hidden = !view.model.decisions;
}

const on = (id, event, listener) => byId(id).addEventListener(event, listener);
on("clear", "click", startAnew);
on("link", "click", () => attempt(() => linkTyped()));
on("input", "input", ({ target }) => {
  if (!target.value) byId("document-id").value = ""; // what comes is another text
  clearTimeout(writing);
  writing = setTimeout(() => keepEntered(view.current), 200);
});
for (const id of OPTIONS) on(id, "change", () => keepPlace(view.current));
on("input", "paste", (event) => {
  const { value, selectionStart, selectionEnd } = event.target;
  if (value && selectionStart === 0 && selectionEnd === value.length)
    byId("document-id").value = "";
  try {
    files.checkSize(new Blob([event.clipboardData.getData("text")]).size, view.model?.limits);
  } catch (error) {
    event.preventDefault(); // a box with megabytes is slow
    elements.showProblem(error);
  }
});
on("input", "keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) attempt(() => linkTyped());
});
on("undo", "click", actions.undo);
on("download", "click", () => attempt(save));
on("keep", "click", () => attempt(keepAsProject));
on("back", "click", actions.back);
on("show-help", "click", actions.help);
listenReviewer();
files.listen((chosen) => attempt(() => takeFiles(chosen)));
keyboard.listen(actions);
attempt(takeUp);
