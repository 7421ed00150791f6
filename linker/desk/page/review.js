/* The page of projects: the list of them, or the one that the address names. It knows the project,
   the selected row and the filter, and calls the other modules for what is typed, clicked or
   pressed. */

import { getJson } from "./api.js";
import { showDisagreements } from "./disagreements.js";
import { DocumentView } from "./documents.js";
import { announce, attempt, byId, fill, make, showProblem } from "./elements.js";
import * as files from "./files.js";
import { showFailures } from "./failures.js";
import { Filters } from "./filters.js";
import { Groups } from "./group.js";
import { browser } from "./keeping.js";
import * as keyboard from "./keyboard.js";
import * as learning from "./learning.js";
import { ListView } from "./lists.js";
import * as overview from "./overview.js";
import { Panel } from "./panel.js";
import * as projects from "./projects.js";
import { Queue } from "./queue.js";
import { showRelease } from "./release.js";
import { listenReviewer, readModel, who } from "./service.js";
import { Steps } from "./steps.js";
import { readNames } from "./verdicts.js";

const [OFTEN, SELDOM] = [1000, 3000]; // milliseconds between two looks at what others do
const OTHERS = { disagreements: showDisagreements, release: showRelease, failures: showFailures };
const VIEWS = ["queue", "document", ...Object.keys(OTHERS)];
const STAY = "linker.stay"; // kept in the browser where nobody goes on after a decision

const query = new URLSearchParams(location.search);
const project = query.get("project");
const address = `projects/${encodeURIComponent(project)}`;
const view = { key: query.get("key"), version: null, summary: null, shows: "queue" };

const steps = new Steps(address, {
  ...{ changed, refresh, showSummary, goOn, goTo },
  place: () => seenList().placeAfter(0),
  placeBehind: () => seenList().placeAfter(1),
  row: () => (view.shows in OTHERS ? groups.entry.row : queue.rowAt(queue.current)),
  key: () => view.key,
  isNoting: () => groups.isNoting,
});
const panel = new Panel({
  ...{ decide, act: onSelected },
  withdraw: (decision) => steps.withdraw(decision),
});
const groups = new Groups({
  ...{ address, changed, openDocument },
  act: (action) => steps.act(action),
});
const documents = new DocumentView({
  ...{ address, who, select: chosen, changed: marked, show: showChosen },
  act: (action) => steps.act(action),
});
const filters = new Filters({ address, changed: () => attempt(() => openQueue(null)) });
const queue = new Queue({
  ask: (page) => getJson(`${address}/queue?${asked(page)}`),
  select: (place) => attempt(() => select(place)).then(showAnswer),
  isWanted: (row) => filters.isWanted(row),
});

const lists = Object.fromEntries(Object.keys(OTHERS).map((name) => [name, new ListView(`${name}-view`)]));

/** The list whose rows are seen, and by which keys go; beside a document it is the queue. */
const seenList = () => lists[view.shows] ?? queue;

function asked(page) {
  const all = { ...filters.value, ...page };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value ?? false));
}

// what is shown

async function openProject() {
  byId("project").hidden = byId("review").hidden = false;
  projects.showNotesOfNew();
  const problem = await filters.takeUp(query);
  showSummary(await getJson(address));
  await openQueue(view.key);
  if (problem) showProblem({ message: problem });
  const text = query.get("text");
  if (text) await openDocument(/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 1, view.key);
  poll();
}

/** Read the queue of the filter, and select the row of a key, or the first. */
async function openQueue(key) {
  const answer = await queue.open(key).catch((error) => {
    overview.showNoFigures();
    throw error;
  });
  if (!answer) return;
  const isThere = key && answer.has_row;
  take(isThere ? key : null);
  overview.showFigures(answer, view.summary);
  if (isThere) await showGroup(key);
  else if (queue.total) await select(0, { quietly: true });
  else showEntry(null);
  keepAddress();
  await filters.count();
}

/** Show what others changed, and what was linked meanwhile; what is selected stays. */
async function refresh() {
  groups.forget();
  const isText = view.shows === "document";
  if (isText) groups.rename((view.key = await documents.refresh()));
  const answer = await queue.refresh(view.key);
  if (!answer) return;
  overview.showFigures(answer, view.summary);
  if (view.key && !answer.has_row) {
    if (view.summary.linked < 1) return showWaiting();
    take(null);
  }
  if (view.key) await showGroup(view.key);
  else if (queue.total && view.shows === "queue") await select(0, { quietly: true });
  else showEntry(null);
  if (view.shows in OTHERS) await showOthers();
  await filters.count();
}

/** Say that the selected row is being linked again; its answer comes back under the same key. */
function showWaiting() {
  const mention = groups.entry?.row.mention;
  showEntry(null);
  if (mention) byId("answer").textContent = `“${mention}” is being linked again`;
}

function showSummary(summary) {
  const isLost = summary.mentions < (view.summary?.mentions ?? 0); // their answers were forgotten
  view.again = summary.linked < 1 && (view.again || isLost);
  summary.again = view.again;
  if (summary.version !== view.version) learning.lookAgain();
  Object.assign(view, { summary, version: summary.version });
  documents.total = summary.documents;
  overview.show(summary);
  filters.offer(summary);
  if (summary.linked < 1) view.lookSoon?.();
}

/** Keep the project, the row and the filter in the address, so that a reload shows the same. */
function keepAddress() {
  const all = [["project", project], ...filters.forAddress];
  if (view.key) all.push(["key", view.key]);
  if (view.shows === "document" && documents.number) all.push(["text", documents.number]);
  history.replaceState(null, "", `review?${new URLSearchParams(all)}`);
}

/** Read all anew, after another model took the place of the one that linked the project. */
async function readAgain() {
  showSummary(await getJson(address));
  await refresh();
}

/** Look again and again at what others do; seldom, where nothing is being linked. */
async function poll() {
  await new Promise((done) => {
    view.lookSoon = done;
    setTimeout(done, view.summary.linked < 1 ? OFTEN : SELDOM);
  });
  if (!document.hidden && !steps.busy)
    try {
      const before = view.version;
      const summary = await getJson(address);
      if (summary.version !== before && view.version === before && !steps.busy) {
        showSummary(summary);
        await refresh();
      }
    } catch {
      // the service is away for a while; what somebody does says so
    }
  poll();
}

// what is selected

/** Take up which row is selected: a note that is typed from now on is for that one. */
function take(key) {
  if (key !== view.key) groups.select(key, queue.rowAt(queue.placeOf(key))?.note);
  view.key = key;
}

const isOneColumn = () => byId("back").offsetParent !== null;

/** Select a row; keys that decide wait until it is shown. */
function select(place, options) {
  view.arriving = arrive(place, options);
  return view.arriving;
}

async function arrive(place, { quietly = false } = {}) {
  const list = seenList();
  const row = await list.rowOf(place);
  if (!row || list !== seenList()) return;
  list.select(place);
  if (view.shows === "release") return quietly || list.focus(); // its rows are no mentions of a project
  if (row.key !== view.key) panel.clear();
  take(row.key);
  keepAddress();
  const isBeside = view.shows !== "document" && !isOneColumn();
  if (!quietly) (isBeside ? list : byId("answer")).focus();
  await showGroup(row.key);
  fetchAhead(list, place);
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
  await Promise.all([readNames([entry.prediction].filter(Boolean)), panel.lengthen(entry)]);
  if (view.key === key) showEntry(entry);
}

function showEntry(entry) {
  const { current, total } = seenList();
  const said = JSON.stringify(entry && [entry.row, entry.prediction, current, total]);
  if (said && said === view.said) return; // nothing to draw anew
  view.said = said;
  panel.show(entry?.prediction ? entry : undefined, Math.max(current, 0), total);
  groups.show(entry);
  if (entry && !entry.prediction)
    byId("answer").textContent = `“${entry.row.mention}” is not linked`;
  byId("answer").dataset.key = entry?.row.key ?? ""; // whose answer it is, for who drives the page
}

/** Ask for the next row that somebody has to decide on, so that it is there when it is wanted. */
async function fetchAhead(list, place) {
  for (const next of [place + 1, await list.nextUndecided(place)]) {
    const row = list.rowAt(next);
    if (row) await groups.get(row.key).catch(() => {});
  }
}

function move(step) {
  if (view.shows === "document") return documents.move(step);
  const list = seenList();
  const place = list.placeAfter(step);
  if (place < 0 || place >= list.total)
    return announce(step > 0 ? "The last row." : "The first row.");
  return attempt(() => select(place));
}

function decide(entry, decision, words) {
  const isText = view.shows === "document";
  const goesOn = byId("advance").checked;
  return steps.decide(entry, decision, { words, goesOn, number: isText ? documents.number : null });
}

/** Go on to what somebody has to decide on next; whether there is something. */
async function goOn(place) {
  if (view.shows === "document") return groups.isNoting || documents.goOn();
  const next = await seenList().nextUndecided(place);
  if (next >= 0 && !groups.isNoting) await select(next);
  return next >= 0;
}

/** Take up what a change answers: the rows that it changed, and how far the project is. */
async function changed({ rows, summary }) {
  showSummary(summary);
  groups.forget(rows);
  queue.update(rows);
  if (view.shows === "document") await documents.refresh();
  if (rows.some(({ key }) => key === view.key)) await showGroup(view.key);
  if (view.shows in OTHERS) await showOthers().catch(() => {});
  filters.count().catch(() => {});
  countQueue().catch(() => {});
}

/** Say how much the queue holds now; the rows that it showed stay in it. */
async function countQueue() {
  const { reading } = queue;
  const figures = await getJson(`${address}/queue?${asked({ limit: 1 })}`);
  if (reading === queue.reading && figures.version >= view.version) overview.showFigures(figures, view.summary);
}

/** Show the row of a key, in the list where it is there. */
async function goTo(key) {
  const place = view.shows === "document" ? -1 : seenList().placeOf(key);
  if (place >= 0) return select(place);
  take(view.shows === "release" ? null : key);
  await refresh();
  return keepAddress();
}

// other views

function turn(shows) {
  const { key, shows: before } = view;
  view.shows = shows;
  for (const name of VIEWS) {
    byId(`${name}-view`).hidden = name !== shows;
    byId(`show-${name}`).setAttribute("aria-pressed", name === shows);
  }
  if (shows === "queue") queue.draw();
  keepAddress();
  if (shows === "document" || !(shows in OTHERS || before in OTHERS)) return;
  take(null); // no key decides on a row of the list before
  view.arriving = selectIn(shows, key);
  attempt(() => view.arriving);
}

/** Select the row of a key in the list that is seen, or the one from which its keys go on. */
async function selectIn(shows, key) {
  if (shows in OTHERS) await showOthers();
  if (view.shows !== shows || view.key) return;
  const list = seenList();
  const place = list.placeOf(key) < 0 ? Math.max(list.placeAfter(0), 0) : list.placeOf(key);
  if (shows === "release" || place >= list.total) showEntry(null);
  await arrive(place, { quietly: true });
  if (document.activeElement === document.body) list.focus(); // what had it is hidden
}

async function showOthers() {
  const { shows } = view;
  const select = (key) => attempt(() => goTo(key));
  const settle = (key, decision) => steps.settle(key, decision);
  const list = lists[shows];
  const hadFocus = list.hasFocus;
  await OTHERS[shows](address, { select, settle, accept: acceptChanges });
  list.redrawn(shows === "release" ? null : view.key);
  const isGone = shows === "release" && list.current < 0 && list.total > 0;
  if (isGone) list.select(Math.min(list.placeAfter(0), list.total - 1)); // the change behind it
  if (hadFocus && view.shows === shows) list.focus();
}

/** Accept what a new release changes; see `Steps.acceptChanges`. */
const acceptChanges = (wanted, question) =>
  steps.acceptChanges(() => ({ ...wanted, project: Number(project) }), question);

/** Accept the change of a new release that is selected when the turn of the key comes. */
const acceptSelected = () =>
  steps.acceptChanges(() => {
    const row = lists.release.selected;
    const isAcceptable = row?.querySelector("button");
    return isAcceptable && { accept: [Number(row.dataset.change)], project: Number(project) };
  });

async function openDocument(number, key) {
  await documents.open(number, key);
  turn("document");
  documents.see();
}

/** Show the selected row in the document that was open, or in the first one in which it stands. */
async function toDocument() {
  const { key } = view;
  if (documents.has(key)) return openDocument(documents.number, key);
  const entry = key && (await groups.get(key));
  return openDocument(entry?.places[0].document ?? documents.number ?? 1, key);
}

/** A mention of the document was chosen, on which what is pressed next acts; null: none is. */
function chosen(mention) {
  take(mention?.key ?? null);
  panel.toTop(); // also where the mention before is of the same row, so that nothing is drawn anew
  keepAddress();
  return steps.act(showSelected);
}

function showChosen(mention) {
  take(mention?.key ?? null);
  keepAddress();
  return showSelected();
}

const showSelected = () => (view.key ? showGroup(view.key) : showEntry(null));

/** Mentions of the document were changed. */
async function marked() {
  groups.forget();
  showSummary(await getJson(address));
  await queue.refresh(view.key);
}

// keys and buttons

/** Do in its turn what a key or a button does, on the row that is selected, once it is shown. */
function onSelected(action) {
  return steps.act(async () => {
    const { key } = view;
    await Promise.resolve(view.arriving).catch(() => {}); // whoever selected it says why not
    if (key === (groups.entry?.row.key ?? null)) return action();
    return announce("Nothing was done: the selected row was not shown yet.");
  });
}

const inText = (name) => () => view.shows === "document" && documents.marking[name]();
const inTurn = (name) => [name, (key) => decideSeen(name, key)];

/** Do what a key decides: on the selected row, or in a new release on the selected change. */
function decideSeen(name, key) {
  if (view.shows !== "release") return onSelected(() => panel.deciding[name](key));
  if (name !== "accept") return announce("Here a accepts a change; all else is decided in the queue.");
  return acceptSelected();
}

const actions = {
  ...panel.actions,
  kind: panel.deciding.kind,
  ...Object.fromEntries(["accept", "reject", "none", "choose"].map(inTurn)),
  next: () => move(1),
  previous: () => move(-1),
  undo: () => steps.undo(),
  flag: () => onSelected(() => groups.flag()),
  note: () => byId("note").focus(),
  bulk: () =>
    view.shows === "queue"
      ? steps.acceptAll(filters)
      : announce("All are accepted in the queue, where they are seen: press v."),
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
    if (isText) attempt(toDocument);
    else turn("queue");
  },
  help: () => byId("help").showModal(),
  back: () => {
    if (view.shows === "document") return documents.focus();
    seenList().focus();
    if (isOneColumn()) byId("rows").scrollIntoView({ block: "nearest" });
  },
};
const on = (id, event, listener) => byId(id).addEventListener(event, listener);

async function start() {
  listenReviewer();
  on("show-help", "click", actions.help);
  on("show-more", "click", ({ target }) =>
    target.setAttribute("aria-expanded", document.body.classList.toggle("all")),
  );
  announce(project ? "Press ? for the keys." : "Drop a file, or open a project.");
  const model = await readModel();
  if (!model.decisions) {
    byId("projects").hidden = false;
    return fill(byId("projects"), make("p.panel", KEEPS_NONE));
  }
  if (project) {
    byId("show-release").hidden = !model.before;
    files.listen((chosen) => steps.add(chosen, model.limits, view.summary));
    learning.listen({ reviewer: who, taken: () => attempt(readAgain) });
    return openProject();
  }
  byId("projects").hidden = false;
  projects.listen(model.limits);
  projects.showNotesOfNew();
  return projects.showProjects();
}

const KEEPS_NONE = "This service keeps no projects; start it with linker serve --decisions FILE.";

if (project) {
  keyboard.listen(actions);
  on("show-document", "click", () => attempt(toDocument));
  for (const name of ["queue", ...Object.keys(OTHERS)]) on(`show-${name}`, "click", () => turn(name));
  byId("advance").checked = !browser.get(STAY);
  on("advance", "change", ({ target }) => browser.set(STAY, target.checked ? null : "1"));
  on("above", "input", () => attempt(() => filters.count()));
  on("accept-all", "click", actions.bulk);
  on("undo", "click", actions.undo);
  on("flag", "click", actions.flag);
  on("relink", "click", () => steps.relink().then(() => seenList().focus())); // the button is gone
  on("add", "click", () => byId("file").click());
  on("back", "click", actions.back);
  on("download", "click", () => attempt(() => overview.download(address, view.summary.linked)));
  on("note", "keydown", ({ key }) => key === "Enter" && seenList().focus()); // which keeps the note
  on("rows", "keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    byId("answer").focus();
  });
}
attempt(start);
