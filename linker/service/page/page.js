/* The page: knows the session, the selected mention and the model, and calls the other modules for
   what is typed, dropped, clicked, or pressed. */

import { AnswerView, foundOf } from "./answer.js";
import { getJson, hooks } from "./api.js";
import { forgetConcepts, showConcept } from "./concept.js";
import { Decisions } from "./decisions.js";
import { download } from "./downloads.js";
import * as elements from "./elements.js";
import * as files from "./files.js";
import * as keeping from "./keeping.js";
import * as keyboard from "./keyboard.js";
import { MentionsView } from "./mentions.js";
import { showReasons } from "./reasons.js";
import { Session, answersOf, isSame, longForm, noneOf, scopeOf } from "./session.js";
import { idOf, kindOf, linesOf } from "./text.js";

const { announce, byId, count, fill, make, plural } = elements;
const REDRAW = 1000; // milliseconds between two looks at a list that is being linked

const OPTIONS = ["read-as", "document-id", "scope", "format"]; // kept with what was entered

// `files` are those that are linked, [] for what is in the box, null where nothing is
const view = { model: null, session: null, entries: [], current: -1, running: null, files: null };
let [typing, writing] = [null, null]; // timers of a search, and of keeping what is typed
const idsOfTexts = new Map(); // the ids of the documents that were linked, by their texts
const reject = (id) => decide({ ids: [id], accepted: false });
const chooseReading = (ids) => decide({ ids, asWritten: true });
const candidateActions = { about, choose, chooseReading, reject, more: () => attempt(more) };
const conceptActions = { about, choose, whyNot };
const answerView = new AnswerView(candidateActions);
const toAnswer = (number) => select(number, { toAnswer: true });
const mentionsView = new MentionsView(toAnswer);
const decisions = new Decisions({ changed, select: toAnswer, attempt });

/** Do something; where it fails, say so, with a button that does it again. */
async function attempt(action) {
  elements.clearProblem();
  try {
    return await action();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    announce("");
    elements.showProblem(error, () => attempt(action));
    return undefined;
  }
}

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
  return sources && link(sources, { files: read, place });
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
  return void announce(`No mention is in ${read.map(({ name }) => name).join(", ")}.`);
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
  const offered = { table, tsv: rows, csv: rows, pubtator: session.hasDocuments };
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
  view.entries = entries.map((entry) => ({ ...entry, said: decisions.said(entry) }));
  byId("output").hidden = !view.session;
  decisions.list(view.entries);
  const focused = document.activeElement?.closest("#results");
  mentionsView.show(view.session, view.entries, view.current);
  select(Math.min(Math.max(view.current, 0), view.entries.length - 1), { toText: focused });
}

function select(number, { toText = false, toAnswer = false } = {}) {
  const entry = view.entries[number];
  view.current = entry ? number : -1;
  if (!isSame(entry, answerView.entry)) leaveMention();
  const link = mentionsView.select(view.current);
  answerView.show(entry, number, view.entries.length);
  for (const id of ["accept", "reject", "none"])
    byId(id).disabled = !entry || !view.model?.decisions;
  const offer = answerView.offered(1);
  about(offer?.concept_id);
  if (byId("reasons").open && entry) showReasons(entry);
  decisions.show(entry);
  byId("in-document").disabled = !entry || !scopeOf(entry);
  if (byId("in-document").disabled) byId("scope").value = "";
  keepPlace(view.current);
  if (toText && link) link.focus();
  if (toAnswer) byId("answer").focus();
  if (toAnswer && byId("back").offsetParent) byId("answer").scrollIntoView(); // one column
  return link;
}

/** Empty what belongs to the mention that was selected, and drop the answers that are to come. */
function leaveMention() {
  clearTimeout(typing);
  searching++;
  byId("query").value = "";
  for (const id of ["found", "concept"]) fill(byId(id));
  showReasons(null);
  announce("");
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

function about(id) {
  showConcept(id, conceptActions);
}

async function more() {
  const entry = view.entries[view.current];
  announce("Asking for more candidates …");
  const added = await view.session.more(entry);
  if (entry.prediction !== view.entries[view.current]?.prediction) return;
  select(view.current);
  announce(added ? `${plural(added, "more candidate")}.` : "There are no more candidates.");
}

function whyNot(id) {
  const entry = view.entries[view.current];
  if (!entry) return announce("Select a mention first.");
  byId("reasons").open = true;
  showReasons(entry, id);
  return byId("reasons").scrollIntoView({ block: "nearest" });
}

// what is decided

async function showDecisions() {
  await decisions.readNames(view.session?.entries() ?? []);
  redraw();
}

async function changed(mention) {
  await view.session?.refresh(mention);
  await showDecisions();
}

function decide({ ids, accepted = true, asWritten = answerView.asWritten }) {
  const entry = view.entries[view.current];
  if (!entry) return announce("Select a mention first.");
  if (!view.model?.decisions) return announce("This service keeps no decisions.");
  const long = longForm(entry.prediction);
  const mention = (!asWritten && long) || entry.prediction.mention;
  const isHere = byId("scope").value === "document" || (asWritten && long);
  const scope = isHere ? scopeOf(entry) : "";
  const what = ids.length ? ids.join(" and ") : "no concept";
  const words = `${mention}: ${accepted ? "" : "not "}${what}.`;
  const decision = { mention, ids, accepted, scope };
  return attempt(() => decisions.make(decision, words));
}

/** Choose a concept for the part in use. */
function choose(id) {
  if (!view.entries[view.current]) return announce("Select a mention first.");
  return decide({ ids: answerView.idsWith(id) });
}

const actions = {
  next: () => move(1),
  previous: () => move(-1),
  accept: () => choose(answerView.best?.concept_id),
  reject: () =>
    answerView.best
      ? reject(answerView.best.concept_id)
      : announce("There is no concept to reject."),
  none: () => decide({ ids: [] }),
  undo: () => attempt(() => decisions.undo()),
  conflict: nextConflict,
  choose: (number) => {
    const offer = answerView.offered(Number(number));
    return offer ? choose(offer.concept_id) : announce(`There is no candidate ${number}.`);
  },
  more: () => (byId("more") ? attempt(more) : announce("There are no more candidates.")),
  part: () => answerView.nextPart()?.focus(),
  search: () => byId("query").focus(),
  explain: () => byId("reasons").querySelector("summary").click(),
  help: () => byId("help").showModal(),
  back: () => select(view.current, { toText: true }) ?? false,
};

// what else can be done

let searching = 0;

async function search() {
  const number = ++searching;
  const query = byId("query").value.trim();
  const asked = query && (await getJson(`search?${new URLSearchParams({ q: query, limit: 10 })}`));
  if (number !== searching) return;
  const concepts = asked ? asked.concepts : [];
  const nothing = query && !concepts.length && make("li.none", "No concept is called so.");
  fill(byId("found"), concepts.map((concept) => foundOf(concept, candidateActions)), nothing);
  if (query) announce(`${plural(concepts.length, "concept")} found.`);
}

async function save() {
  announce("Writing the file …");
  await view.session.link(view.session.items); // others may have decided
  await showDecisions();
  const names = await download(view.session, view.entries, byId("format").value);
  announce(`Saved as ${names.join(" and ")}.`);
}

/** Empty the page, and forget what was entered. */
function startAnew() {
  view.running?.abort();
  Object.assign(view, { session: null, files: null, running: null });
  byId("source").open = true;
  replaceText("");
  redraw();
  keeping.forget();
  byId("input").focus();
  announce("Emptied. Paste a text or names, and press Link (Ctrl+Enter).");
}

/** Put another text into the box. */
function replaceText(text) {
  byId("input").select();
  document.execCommand("insertText", false, text); // which Ctrl+Z undoes
  byId("document-id").value = "";
}

async function start() {
  view.model = await getJson("model");
  forgetConcepts(); // the model may be another one
  const { sources = [], concepts } = view.model.dictionary ?? {};
  const names = sources.map((source) => [source.file, source.release].filter(Boolean).join(" "));
  byId("model").textContent = `${names.join(", ")} · ${count(concepts ?? 0)} concepts`;
  byId("no-decisions").hidden = view.model.decisions;
}

hooks.waiting = (seconds) => announce(`The service is busy; asking again in ${seconds} s.`);
hooks.askKey = (wrong) => {
  byId("wrong-key").hidden = !wrong;
  return elements.ask("which-key");
};

const on = (id, event, listener) => byId(id).addEventListener(event, listener);
const texts = {
  "example-text": byId("input").value,
  "example-names": byId("names").content.textContent.trim(),
};
for (const [id, text] of Object.entries(texts)) on(id, "click", () => replaceText(text));
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
for (const name of ["accept", "reject", "none", "undo"]) on(name, "click", actions[name]);
on("download", "click", () => attempt(save));
on("next-conflict", "click", nextConflict);
on("back", "click", actions.back);
on("show-help", "click", actions.help);
on("reasons", "toggle", ({ target }) => {
  const entry = view.entries[view.current];
  if (target.open && entry && !byId("reasons-body").hasChildNodes()) showReasons(entry);
});
on("query", "input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => attempt(search), 200);
});
on("search", "submit", (event) => {
  event.preventDefault();
  attempt(search);
});
on("search", "keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const places = [byId("query"), ...byId("found").querySelectorAll(".choose")];
  places[places.indexOf(document.activeElement) + step]?.focus();
  event.preventDefault();
});
files.listen((chosen) => attempt(() => takeFiles(chosen)));
keyboard.listen(actions);
attempt(takeUp);
