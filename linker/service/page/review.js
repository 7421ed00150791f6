/* The page of projects: the list of them, or the one that the address names. It knows the project,
   the selected row and the filter, and calls the other modules for what is typed, clicked or
   pressed. */

import { getJson, postJson, send } from "./api.js";
import { withdrawn } from "./decisions.js";
import { showDisagreements } from "./disagreements.js";
import { DocumentView } from "./documents.js";
import * as elements from "./elements.js";
import * as files from "./files.js";
import { Filters } from "./filters.js";
import { Groups } from "./group.js";
import { browser } from "./keeping.js";
import * as keyboard from "./keyboard.js";
import * as learning from "./learning.js";
import { readModel } from "./model.js";
import * as overview from "./overview.js";
import { Panel } from "./panel.js";
import * as projects from "./projects.js";
import { Queue, isUndecided } from "./queue.js";
import * as names from "./reviewer.js";
import { longForm } from "./session.js";
import { joined, readNames, sentenceToItsReviewer } from "./verdicts.js";

const { announce, attempt, button, byId, fill, make, plural } = elements;
const [OFTEN, SELDOM] = [2000, 3000]; // milliseconds between two looks at what others do
const VIEWS = ["queue", "document", "disagreements"];
const FEW = 10; // rows: an undo of more is shown by reading the queue anew
const [ROLE, STAY] = ["linker.role", "linker.stay"]; // kept in the browser

const query = new URLSearchParams(location.search);
const project = query.get("project");
const address = `projects/${encodeURIComponent(project)}`;
const view = { key: query.get("key"), version: null, summary: null, shows: "queue" };

/** Who acts: {reviewer, role}; null where no name was given. */
async function who() {
  const reviewer = await names.reviewer();
  const role = byId("role").value;
  return reviewer && { reviewer, role };
}

const panel = new Panel({ decide, withdraw });
const groups = new Groups({ address, reviewer: who, changed, openDocument });
const documents = new DocumentView({ address, who, select: chosen, changed: marked });
const filters = new Filters({ address, changed: () => attempt(() => openQueue(null)) });
const queue = new Queue({
  ask: (page) => getJson(`${address}/queue?${asked(page)}`),
  select: (place) => attempt(() => select(place)).then(showAnswer),
  isWanted: (row) => filters.isWanted(row),
  attempt,
});

function asked(page) {
  const all = { ...filters.value, ...page };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value ?? false));
}

// what is shown

async function openProject() {
  byId("project").hidden = byId("review").hidden = false;
  await filters.takeUp(query);
  showSummary(await getJson(address));
  await openQueue(view.key);
  if (query.get("text")) await openDocument(Number(query.get("text")), view.key);
  poll();
}

/** Read the queue of the filter, and select the row of a key, or the first. */
async function openQueue(key) {
  const answer = await queue.open(key);
  if (!answer) return;
  view.key = key;
  overview.showFigures(answer);
  if (key) await showGroup(key);
  else if (queue.total) await select(0, { quietly: true });
  else showEntry(null);
  keepAddress();
  await filters.count();
}

/** Show what others changed, and what was linked meanwhile; what is selected stays. */
async function refresh() {
  groups.forget();
  const isText = view.shows === "document";
  if (isText) view.key = await documents.refresh();
  const answer = await queue.refresh(view.key);
  if (!answer) return;
  overview.showFigures(answer);
  if (view.key) await showGroup(view.key);
  else if (queue.total && !isText) await select(0, { quietly: true });
  else showEntry(null);
  if (view.shows === "disagreements") await showOthers();
  await filters.count();
}

function showSummary(summary) {
  if (summary.version !== view.version) learning.lookAgain();
  Object.assign(view, { summary, version: summary.version });
  overview.show(summary);
  filters.offerTypes(summary.types);
}

/** Keep the project, the row and the filter in the address, so that a reload shows the same. */
function keepAddress() {
  const all = [["project", project], ...filters.forAddress];
  if (view.key) all.push(["key", view.key]);
  if (view.shows === "document" && documents.number) all.push(["text", documents.number]);
  history.replaceState(null, "", `review?${new URLSearchParams(all)}`);
}

/** Look again and again at what others do; seldom, where nothing is being linked. */
async function poll() {
  await new Promise((done) => setTimeout(done, view.summary.linked < 1 ? OFTEN : SELDOM));
  if (!document.hidden && !busy)
    try {
      const before = view.version;
      const summary = await getJson(address);
      if (summary.version !== before && view.version === before && !busy) {
        showSummary(summary);
        await refresh();
      }
    } catch {
      // the service is away for a while; what somebody does says so
    }
  poll();
}

// what is selected

const isOneColumn = () => byId("back").offsetParent !== null;

async function select(place, { quietly = false } = {}) {
  const row = await queue.rowOf(place);
  if (!row) return;
  view.key = row.key;
  queue.select(place);
  keepAddress();
  if (!quietly) (isOneColumn() ? byId("answer") : queue).focus();
  await showGroup(row.key);
  fetchAhead(place);
}

/** Bring the answer into sight, where it is below the queue. */
function showAnswer() {
  if (isOneColumn()) byId("answer").scrollIntoView();
}

/** Show the answer of a group; the row before is shown until it is there. */
async function showGroup(key) {
  const entry = await groups.get(key).catch((error) => {
    if (error.status !== 404) throw error;
    return null; // decisions in one document, or another model, made other rows of it
  });
  if (view.key !== key) return;
  if (!entry) return goTo(null);
  await readNames([entry.prediction].filter(Boolean));
  if (view.key === key) showEntry(entry);
}

function showEntry(entry) {
  const said = JSON.stringify(entry && [entry.row, entry.prediction, queue.current]);
  if (said && said === view.said) return; // nothing to draw anew
  view.said = said;
  const place = Math.max(queue.current, 0);
  panel.show(entry?.prediction ? entry : undefined, place, queue.total);
  groups.show(entry);
  if (entry && !entry.prediction)
    byId("answer").textContent = `“${entry.row.mention}” is not linked`;
}

/** Ask for the next row that somebody has to decide on, so that it is there when it is wanted. */
async function fetchAhead(place) {
  for (const next of [place + 1, await queue.nextUndecided(place)]) {
    const row = queue.rowAt(next);
    if (row) await groups.get(row.key).catch(() => {});
  }
}

function move(step) {
  if (view.shows === "document") return documents.move(step);
  const place = queue.placeAfter(step);
  if (place < 0 || place >= queue.total)
    return announce(step > 0 ? "The last row." : "The first row.");
  return attempt(() => select(place));
}

// what is decided

let busy = false; // while something is being decided

/** Do what changes the project, one after the other, however fast the keys come. */
let acting = Promise.resolve();
function act(action) {
  acting = acting.then(async () => {
    busy = true;
    await attempt(action);
    busy = false;
  });
  return acting;
}

function decide(entry, { ids, accepted, predicate, asWritten, isHere }, words) {
  const decision = {
    key: entry.row.key,
    concept_id: joined(ids) || null,
    accepted,
    ...(predicate && { predicate }),
    here: isHere,
    as_written: Boolean(asWritten && longForm(entry.prediction)),
    ...(view.shows === "document" && { document: documents.number }),
  };
  return sendDecision(decision, words);
}

/** Keep a decision. Meanwhile the next row is shown, which was fetched ahead. */
async function sendDecision(decision, words) {
  const reviewer = await who();
  if (!reviewer) return undefined;
  const isSplit = decision.here || decision.as_written; // the rest of the row is one of its own
  const isText = view.shows === "document";
  const waits = isSplit || isText; // for what becomes of the row, or of the text
  const goesOn = decision.accepted && byId("advance").checked;
  const place = queue.placeAfter(0);
  let [answer, hasNext] = await Promise.all([
    postJson(`${address}/decisions`, { ...reviewer, decisions: [decision] }),
    goesOn && !waits && goOn(place),
  ]);
  await changed(answer);
  if (isSplit) await refresh();
  else if (isText) await documents.refresh();
  if (goesOn && waits) hasNext = await goOn(place - 1);
  else if (hasNext && !isUndecided(queue.rowAt(queue.current)))
    hasNext = await goOn(queue.current); // the decision was on that row, too
  const last = goesOn && !hasNext ? " Nothing undecided is below it." : "";
  const said = answer.replaced.map(sentenceToItsReviewer).join(" and ");
  if (!said) return announce(`${words}${last}`);
  const all = `${words} ${said}; this replaces it.${last} `;
  return announce(make("span.notice", all, button("Undo", undo)));
}

/** Go on to what somebody has to decide on next; whether there is something. */
async function goOn(place) {
  if (view.shows === "document") return documents.goOn();
  const next = await queue.nextUndecided(place);
  if (next >= 0) await select(next);
  return next >= 0;
}

/** Take up what a change answers: the rows that it changed, and how far the project is. */
async function changed({ rows, summary }) {
  showSummary(summary);
  groups.forget(rows);
  queue.update(rows);
  if (rows.some(({ key }) => key === view.key)) await showGroup(view.key);
  filters.count().catch(() => {});
}

const undo = () =>
  act(async () => {
    const reviewer = await who();
    if (!reviewer) return;
    let answer;
    try {
      answer = await postJson(`${address}/undo`, reviewer);
    } catch (error) {
      if (error.status !== 404) throw error;
      return announce("There is nothing to undo.");
    }
    const { rows, words } = answer;
    await changed(answer);
    if (view.shows === "queue" && rows.length && rows.length <= FEW) await goTo(rows[0].key);
    else await refresh();
    announce(`Taken back: ${words}`);
  });

/** Show the row of a key, in the list where it is there. */
async function goTo(key) {
  const place = queue.placeOf(key);
  if (place >= 0) return select(place);
  view.key = key;
  await refresh();
  return keepAddress();
}

function withdraw({ id }) {
  return act(async () => {
    const reviewer = await who();
    if (!reviewer) return;
    await withdrawn([id], reviewer.reviewer);
    showSummary(await getJson(address));
    await refresh();
    announce("The decision was withdrawn.");
  });
}

const acceptAll = () =>
  act(async () => {
    const answer = await filters.acceptAll(who);
    if (!answer) return;
    showSummary(answer.summary);
    await refresh();
    const wrong = overview.wrongOf(answer.expected_wrong);
    const words = `${plural(answer.mentions, "mention")} accepted, ${wrong}.`;
    announce(make("span.notice", `${words} `, button("Undo", undo)));
  });

// other views

function turn(shows) {
  view.shows = shows;
  for (const name of VIEWS) {
    byId(`${name}-view`).hidden = name !== shows;
    byId(`show-${name}`).setAttribute("aria-pressed", name === shows);
  }
  if (shows === "queue") queue.draw();
  if (shows === "document" && !documents.number)
    attempt(() => openDocument(groups.entry?.places[0].document ?? 1, view.key));
  keepAddress();
  if (shows === "disagreements") attempt(showOthers);
}

const isAdjudicator = () => byId("role").value === "adjudicator";

function showOthers() {
  const select = (key) => attempt(() => goTo(key));
  return showDisagreements(address, { select, settle, isAdjudicator: isAdjudicator() });
}

/** Decide as an adjudicator what a reviewer decided. */
function settle(key, { concept_id: ids, accepted, predicate }) {
  return act(async () => {
    const reviewer = await who();
    if (!reviewer) return;
    const decision = { key, concept_id: ids, accepted, ...(predicate && { predicate }) };
    await changed(await postJson(`${address}/decisions`, { ...reviewer, decisions: [decision] }));
    await showOthers();
    announce("Settled.");
  });
}

async function openDocument(number, key) {
  await documents.open(number, key);
  turn("document");
}

/** A mention of the document was chosen, on which what is pressed next acts; null: none is. */
function chosen(mention) {
  view.key = mention?.key ?? null;
  keepAddress();
  return act(() => (view.key ? showGroup(view.key) : showEntry(null)));
}

/** Mentions of the document were changed. */
async function marked() {
  groups.forget();
  showSummary(await getJson(address));
  await queue.refresh(view.key);
}

/** Add files to the project. */
async function add(chosen, limits) {
  for (const file of chosen) {
    const source = { file: file.name, content: file };
    const options = { reviewer: who, limits };
    const summary = await projects.sendSource(`${address}/sources`, source, options);
    if (!summary) return;
    showSummary(summary);
    announce(`${file.name} was added.`);
  }
  await refresh();
}

// keys and buttons

const inText = (name) => () => view.shows === "document" && documents.marking[name]();
const inTurn = (name) => [name, (key) => act(() => panel.actions[name](key))];
const actions = {
  ...panel.actions,
  ...Object.fromEntries(["accept", "reject", "none", "choose"].map(inTurn)),
  next: () => move(1),
  previous: () => move(-1),
  undo,
  flag: () => act(() => groups.flag()),
  note: () => byId("note").focus(),
  bulk: acceptAll,
  conflict: () => turn("disagreements"),
  walk: inText("walk"),
  mark: inText("add"),
  piece: inText("addPiece"),
  split: inText("split"),
  type: inText("toType"),
  unmark: inText("remove"),
  ends: () => false, // by keys that the text itself takes
  turn: () => {
    const isText = view.shows === "queue" && view.summary.kind === "documents";
    turn(isText ? "document" : "queue");
  },
  help: () => byId("help").showModal(),
  back: () => {
    if (view.shows === "document") return documents.focus();
    queue.focus();
    if (isOneColumn()) byId("rows").scrollIntoView({ block: "nearest" });
  },
};
const on = (id, event, listener) => byId(id).addEventListener(event, listener);

async function start() {
  names.listen();
  on("show-help", "click", actions.help);
  byId("role").value = browser.get(ROLE) ?? "";
  on("role", "change", ({ target }) => {
    browser.set(ROLE, target.value || null);
    if (view.shows === "disagreements") attempt(showOthers);
  });
  announce(project ? "Press ? for the keys." : "Drop a file, or open a project.");
  const model = await readModel();
  names.known(model);
  panel.canDecide = model.decisions;
  if (model.reviewer) byId("role").value = model.role;
  byId("role").disabled = model.may_adjudicate === false;
  if (!model.decisions) {
    byId("projects").hidden = false;
    return fill(byId("projects"), make("p.panel", KEEPS_NONE));
  }
  if (project) {
    files.listen((chosen) => act(() => add(chosen, model.limits)));
    learning.listen({ reviewer: who, taken: () => attempt(refresh) });
    return openProject();
  }
  byId("projects").hidden = false;
  projects.listen({ attempt, reviewer: who, limits: model.limits });
  return projects.showProjects(attempt);
}

const KEEPS_NONE = "This service keeps no projects; start it with linker serve --projects FILE.";

if (project) {
  keyboard.listen(actions);
  for (const name of VIEWS) on(`show-${name}`, "click", () => turn(name));
  byId("advance").checked = !browser.get(STAY);
  on("advance", "change", ({ target }) => browser.set(STAY, target.checked ? null : "1"));
  on("above", "input", () => attempt(() => filters.count()));
  on("accept-all", "click", acceptAll);
  on("undo", "click", undo);
  on("add", "click", () => byId("file").click());
  on("back", "click", actions.back);
  on("download", "click", () => attempt(() => overview.download(address)));
  on("note", "keydown", ({ key }) => key === "Enter" && queue.focus()); // which keeps the note
  on("rows", "keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    byId("answer").focus();
  });
}
attempt(start);
