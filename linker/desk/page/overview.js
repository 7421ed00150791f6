/* What stands above a project: how far it is, and the files that are made of it. */

import { send } from "./api.js";
import { announce, byId, count, fill, make, percent, plural } from "./elements.js";

const OF_DOCUMENTS = ["pubtator", "bioc"]; // formats that tables and lists have no part in

/** Show the summary of a project. */
export function show(summary) {
  const { name, kind, mentions, decided, linked, disagreements, problem } = summary;
  document.title = `${name} · linker`;
  Object.assign(byId("project-name"), { textContent: name, title: name });
  Object.assign(byId("progress"), { max: Math.max(mentions, 1), value: decided });
  byId("progress-words").textContent = `${count(decided)} of ${count(mentions)} decided`;
  byId("expected-words").textContent = summary.expected ? expectedOf(summary.expected) : "";
  const what = summary.again ? "Being linked again" : "Being linked";
  byId("linking-words").textContent = linked < 1 ? `${what}: ${percent(linked)}` : "";
  byId("problem-words").textContent = problem ? sentence(problem) : "";
  byId("project-problem").hidden = !problem;
  byId("relink").hidden = !summary.outdated;
  byId("show-document").hidden = kind !== "documents";
  const number = disagreements > 0 && ` (${count(disagreements)})`;
  fill(byId("show-disagreements"), "Disagreements", number);
  for (const option of byId("format").options)
    option.hidden = option.disabled = kind !== "documents" && OF_DOCUMENTS.includes(option.value);
}

/** How many of the sure answers that nobody decided are right, in words. */
const expectedOf = ({ answers, share, low, high }) =>
  `Of ${plural(answers, "undecided mention")} with a sure answer some ${percent(share)} are right ` +
  `(${percent(low)} to ${percent(high)}).`;

/** Show what was odd about files that came in, each in a sentence, and what may be done about it. */
export function showNotes(notes, action = null) {
  fill(byId("project-notes"), notes.map((note) => make("p", sentence(note))), action);
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Show how much the queue holds; of a project that is being linked, `again` is whether it was. */
export function showFigures({ total, mentions, expected_wrong: wrong }, { linked, again }) {
  const none = linked < 1 ? WAITING[again ? "again" : "first"] : "No row matches.";
  const sure = wrong > 0 && wrongOf(wrong);
  const words = [plural(total, "row"), plural(mentions, "mention"), sure].filter(Boolean);
  byId("queue-summary").textContent = total ? words.join(" · ") : none;
}

const WAITING = {
  first: "Rows appear as they are linked.",
  again: "Rows are being linked again; each comes back with its new answer.",
};

/** How many answers are expected to be wrong, in words. */
export function wrongOf(number) {
  if (number < 0.5) return "hardly any wrong";
  return number < 1.5 ? "about one wrong" : `some ${count(Math.round(number))} wrong`;
}

/** Say that the rows of the queue are not those of its filter, which could not be read. */
export function showNoFigures() {
  byId("queue-summary").textContent = "These are the rows of the filter before.";
}

/** Save the project in the chosen format, under the name that the service gives; `linked` is the
 * share of its mentions that have an answer. */
export async function download(address, linked) {
  announce("Writing the file …");
  const response = await send(`${address}/export?format=${byId("format").value}`);
  const [, given] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("Content-Disposition"));
  const name = decodeURIComponent(given);
  save(await response.blob(), name);
  const rest = linked < 1 && ` ${percent(linked)} is linked so far; the rest has no answer in it.`;
  announce(`Saved as ${name}.${rest || ""}`);
}

/** Give a content to the browser as a file to be saved. */
function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
