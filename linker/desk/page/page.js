/* The first page: link a text or names, and see the answers and their reasons. What is decided, and
   what comes in files, is in a project; see review.js. */

import { postJson } from "./api.js";
import { announce, attempt, byId, count, plural, showProblem } from "./elements.js";
import * as files from "./files.js";
import { tab } from "./keeping.js";
import * as keyboard from "./keyboard.js";
import { MentionsView } from "./mentions.js";
import { Panel } from "./panel.js";
import { answersOf, noneOf } from "./predictions.js";
import { named, openNew, pasted } from "./projects.js";
import { listenReviewer, readModel } from "./service.js";
import { idOf, kindOf, linesOf, unitsOf } from "./text.js";
import { readNames } from "./verdicts.js";

const TEXT = "linker.text"; // where what was linked is kept in this tab, for a reload
const MOST = 200; // names that are linked here

const view = { model: null, entries: [], current: -1, running: null };
const panel = new Panel({ act: (action) => action() });
const mentionsView = new MentionsView((number) => select(number, { toAnswer: true }));

/** Link what is in the box. */
async function link() {
  const text = byId("input").value;
  if (!text.trim()) {
    byId("input").focus();
    return announce("The box is empty: paste a text or a list of names first.");
  }
  if (!view.model) await knowModel(); // which failed before
  files.checkSize(new Blob([text]).size, view.model.limits);
  tab.set(TEXT, text);
  view.running?.abort();
  const { signal } = (view.running = new AbortController());
  announce("Linking …");
  const chosen = byId("read-as").value;
  const kind = chosen === "auto" ? kindOf(text) : chosen;
  const rest = kind === "names" ? Math.max(0, linesOf(text).length - MOST) : 0;
  view.entries = await (kind === "names" ? linkNames(text, signal) : linkText(text, signal));
  await readNames(view.entries.map(({ prediction }) => prediction));
  if (signal.aborted) return undefined;
  byId("source").open = false;
  byId("output").hidden = false;
  mentionsView.show(view.entries, kind === "names" ? null : text);
  select(view.entries.length ? 0 : -1, { toText: true });
  if (!view.entries.length) return announce(NOTHING);
  const left = rest > 0 && ` The other ${count(rest)} are linked in a project, or by linker link.`;
  const as = kind === "names" ? "a list of names" : "a text";
  const words = `${plural(view.entries.length, "mention")} linked, read as ${as}.`;
  return announce(words, left || " Press ? for the keys.");
}

const NOTHING = "No mention was found. If these are names, read them as a list of names.";

async function linkNames(text, signal) {
  const mentions = linesOf(text).slice(0, MOST).map((line) => ({ text: line }));
  const { predictions } = await postJson("link", { mentions }, signal);
  return predictions.map((prediction, n) => ({ item: { mention: mentions[n] }, prediction, spans: [] }));
}

async function linkText(text, signal) {
  const document = { id: idOf(text), text };
  const { predictions } = await postJson("annotate", { documents: [document] }, signal);
  const units = unitsOf(text);
  const spansOf = ({ spans }) => (spans ?? []).map((span) => span.map(units));
  const item = { document, text, pasted: true };
  return predictions.map((prediction) => ({ item, prediction, spans: spansOf(prediction) }));
}

function select(number, { toText = false, toAnswer = false } = {}) {
  view.current = number;
  const link = mentionsView.select(number);
  panel.show(view.entries[number], number, view.entries.length);
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

/** Make a project of sources, and open it. */
function keep(sources, name = "") {
  if (view.model.decisions) return openNew(sources, { name, limits: view.model.limits });
  throw new Error(
    "This service keeps no projects. Start it with linker serve --decisions FILE, or link files " +
      "with the command linker link.",
  );
}

function keepTyped() {
  const content = byId("input").value;
  if (!content.trim()) return announce("The box is empty: paste a text or a list of names first.");
  return keep([pasted(content)], named("pasted"));
}

const actions = {
  ...panel.actions,
  next: () => move(1),
  previous: () => move(-1),
  help: () => byId("help").showModal(),
  back: () => select(view.current, { toText: true }) ?? false,
};

async function knowModel() {
  view.model = await readModel();
  for (const id of ["to-projects", "keep"]) byId(id).hidden = !view.model.decisions;
}

async function start() {
  byId("input").value = tab.get(TEXT) ?? byId("input").value;
  await knowModel();
  if (tab.get(TEXT)) await link();
}

const on = (id, event, listener) => byId(id).addEventListener(event, listener);
on("link", "click", () => attempt(link));
on("keep", "click", () => attempt(keepTyped));
on("input", "keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) attempt(link);
});
on("input", "paste", (event) => {
  try {
    files.checkSize(new Blob([event.clipboardData.getData("text")]).size, view.model?.limits);
  } catch (error) {
    event.preventDefault(); // a box with megabytes is slow
    showProblem(error);
  }
});
on("back", "click", actions.back);
on("show-help", "click", actions.help);
listenReviewer();
files.listen((chosen) =>
  attempt(() => keep(chosen.map((file) => ({ file: file.name, content: file })))),
);
keyboard.listen(actions);
attempt(start);
