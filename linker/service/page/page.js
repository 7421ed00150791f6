/* The page: knows the session, the selected mention and the model, and calls the other modules for
   what is typed, dropped, clicked, or pressed. */

import { AnswerView, foundOf } from "./answer.js";
import { getJson, hooks } from "./api.js";
import { forgetConcepts, showConcept } from "./concept.js";
import { Decisions } from "./decisions.js";
import * as elements from "./elements.js";
import * as files from "./files.js";
import * as keyboard from "./keyboard.js";
import { MentionsView } from "./mentions.js";
import { showReasons } from "./reasons.js";
import { Session, answersOf, scopeOf } from "./session.js";
import { idOf, kindOf, linesOf } from "./text.js";

const { announce, byId, count, fill, make, plural } = elements;
const REDRAW = 1000; // milliseconds between two looks at a list that is being linked

const view = { model: null, session: null, entries: [], current: -1, running: null };
const reject = (id) => decide({ ids: [id], accepted: false });
const candidateActions = { about, choose, reject, more: () => attempt(more) };
const conceptActions = { about, choose, whyNot };
const answerView = new AnswerView(candidateActions);
const toAnswer = (number) => select(number, { toAnswer: true });
const mentionsView = new MentionsView(toAnswer);
const decisions = new Decisions({ changed, select: toAnswer });

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

async function linkTyped() {
  const text = byId("input").value;
  if (!text.trim()) {
    byId("input").focus();
    return announce("The box is empty: paste a text or a list of names first.");
  }
  files.checkSize(new Blob([text]).size, view.model?.limits);
  const chosen = byId("read-as").value;
  const kind = chosen === "auto" ? kindOf(text) : chosen;
  if (kind === "pubtator") return linkParsed([{ content: text, name: "pasted.pubtator.txt" }]);
  if (kind === "names") return link(linesOf(text).map(files.asSource), ", read as a list of names");
  return link([{ document: { id: idOf(text), text }, pasted: true }], ", read as a text");
}

async function linkFiles(chosen) {
  for (const file of chosen) files.checkSize(file.size, view.model?.limits);
  return linkParsed(chosen.map((file) => ({ content: file, name: file.name })));
}

async function linkParsed(contents) {
  const sources = [];
  for (const { content, name } of contents) {
    announce(`Reading ${name} …`);
    const read = await files.parse(content, name);
    if (!read) return announce("Nothing was linked: no column was chosen.");
    sources.push(...read);
  }
  if (sources.length) return link(sources);
  return announce(`No mention is in ${contents.map(({ name }) => name).join(", ")}.`);
}

/** Link sources; `read` says how a text in the box was read. */
async function link(sources, read = "") {
  view.running?.abort();
  const run = (view.running = new AbortController());
  const session = new Session(sources, view.model?.limits);
  let seen = 0;
  const progress = (share) => {
    if (run.signal.aborted) return;
    announce(`Linking … ${elements.percent(share)}`);
    if (!seen) Object.assign(view, { session, current: -1 });
    if (Date.now() - seen > REDRAW) redraw();
    seen ||= Date.now();
  };
  announce("Linking …");
  await session.link(session.items, { signal: run.signal, progress });
  if (run.signal.aborted) return;
  byId("source").open = false;
  redraw();
  await attempt(start);
  await attempt(readDecisions);
  if (run.signal.aborted) return;
  select(view.current, { toText: true });
  announce(
    view.entries.length
      ? `${plural(view.entries.length, "mention")} linked${read}. Press ? for the keys.`
      : "No mention was found. If these are names, read them as a list of names.",
  );
}

// what is selected

function redraw() {
  view.entries = (view.session?.entries() ?? []).map((entry) => decisions.added(entry));
  byId("output").hidden = !view.session;
  byId("pubtator").disabled = !view.session?.hasDocuments;
  decisions.list(view.entries);
  const focused = document.activeElement?.closest("#results");
  mentionsView.show(view.session, view.entries, view.current);
  select(Math.min(Math.max(view.current, 0), view.entries.length - 1), { toText: focused });
}

function select(number, { toText = false, toAnswer = false } = {}) {
  const entry = view.entries[number];
  view.current = entry ? number : -1;
  const link = mentionsView.select(view.current);
  answerView.show(entry, number, view.entries.length);
  for (const id of ["accept", "reject", "none"])
    byId(id).disabled = !entry || !view.model?.decisions;
  const offer = answerView.offered(1);
  about(offer?.concept_id);
  if (byId("reasons").open && entry) showReasons(entry);
  decisions.show(entry, attempt);
  byId("in-document").disabled = !entry || !scopeOf(entry);
  if (byId("in-document").disabled) byId("scope").value = "";
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
  const names = answersOf(prediction).map((answer) => answer?.name ?? "no concept");
  announce(`${prediction.mention}: ${names.join(" and ")}`);
  return true;
}

function nextConflict() {
  const places = view.entries.flatMap(({ disagree }, number) => (disagree ? [number] : []));
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
  if (entry === view.entries[view.current]) select(view.current);
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

async function readDecisions() {
  if (view.model?.decisions) await decisions.load(view.entries);
  redraw();
}

async function changed(mention) {
  await view.session?.refresh(mention);
  await readDecisions();
}

function decide({ ids, accepted = true }) {
  const entry = view.entries[view.current];
  if (!entry) return announce("Select a mention first.");
  if (!view.model?.decisions) return announce("This service keeps no decisions.");
  const scope = byId("scope").value === "document" ? scopeOf(entry) : "";
  const what = ids.length ? ids.join(" and ") : "no concept";
  const words = `${entry.prediction.mention}: ${accepted ? "" : "not "}${what}.`;
  return attempt(() => decisions.make(entry.prediction.mention, { ids, accepted, scope }, words));
}

/** Choose a concept for the part in use, or several for the whole mention. */
function choose(id) {
  if (!view.entries[view.current]) return announce("Select a mention first.");
  return decide({ ids: Array.isArray(id) ? id : answerView.idsWith(id) });
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

async function download() {
  const format = byId("format").value;
  const ending = { sssom: "sssom.tsv", pubtator: "pubtator.txt" }[format] ?? format;
  announce("Writing the file …");
  files.save(await view.session.download(format), `linked.${ending}`);
  announce(`Saved as linked.${ending}.`);
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
  clear: "",
};
for (const [id, text] of Object.entries(texts))
  on(id, "click", () => {
    byId("input").select();
    document.execCommand("insertText", false, text); // which Ctrl+Z undoes
  });
on("link", "click", () => attempt(linkTyped));
on("input", "paste", (event) => {
  try {
    files.checkSize(new Blob([event.clipboardData.getData("text")]).size, view.model?.limits);
  } catch (error) {
    event.preventDefault(); // a box with megabytes is slow
    elements.showProblem(error);
  }
});
on("input", "keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) attempt(linkTyped);
});
for (const name of ["accept", "reject", "none", "undo"]) on(name, "click", actions[name]);
on("download", "click", () => attempt(download));
on("next-conflict", "click", nextConflict);
on("back", "click", actions.back);
on("show-help", "click", actions.help);
on("reasons", "toggle", ({ target }) => {
  const entry = view.entries[view.current];
  if (target.open && entry && !byId("reasons-body").hasChildNodes()) showReasons(entry);
});
let typing;
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
files.listen((chosen) => attempt(() => linkFiles(chosen)));
keyboard.listen(actions);
attempt(start);
