/* Keys: one table, which the help shows too. */

import { byId, fill, make } from "./elements.js";
import { browser } from "./keeping.js";

const OFF = "linker.keys-off"; // set where single keys are not wanted
const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const REPEATED = new Set(["next", "previous"]); // by a key that is held down

/** Listen for keys; `actions` has a function for each name in the table. */
export function listen(actions) {
  const known = KEYS.filter(({ action }) => !action || action in actions);
  const rows = known.map(({ keys, words }) =>
    make("div", make("dt", keys.map((key) => make("kbd", key))), make("dd", words)),
  );
  fill(byId("keys"), rows);
  byId("keys-on").checked = !browser.get(OFF);
  byId("keys-on").addEventListener("change", (event) =>
    browser.set(OFF, event.target.checked ? null : "1"),
  );
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.matches(TYPING);
    const action = actionOf(event, typing);
    if (!actions[action] || (event.repeat && !REPEATED.has(action))) return;
    const done = actions[action](event.key);
    if (done !== false) event.preventDefault();
  });
}

function actionOf({ key, target }, typing) {
  if (key === "Escape") return "back";
  if (typing || (browser.get(OFF) && key.length === 1)) return null;
  const inList = target.closest("#results, #rows, .disagreements");
  const row = KEYS.find(({ keys }) => keys.includes(key));
  if (row?.action) return row.action;
  if (inList && (key === "ArrowDown" || key === "ArrowRight")) return "next";
  if (inList && (key === "ArrowUp" || key === "ArrowLeft")) return "previous";
  return /^[1-9]$/.test(key) ? "choose" : null;
}

const KEYS = [
  { keys: ["j"], action: "next", words: "the next mention (list, text: ↓ →)" },
  { keys: ["k"], action: "previous", words: "the one before (list, text: ↑ ←)" },
  { keys: ["Enter"], words: "on a mention: go to its answer" },
  { keys: ["Esc"], words: "back to the list or text" },
  { keys: ["1", "–", "9"], words: "choose this candidate" },
  { keys: ["a"], action: "accept", words: "accept the answer; of a composite, of one part" },
  { keys: ["r"], action: "reject", words: "reject the first candidate" },
  { keys: ["n"], action: "none", words: "no concept in the dictionary" },
  { keys: ["x"], action: "kind", words: "exact, broader, narrower or related" },
  { keys: ["m"], action: "more", words: "more candidates" },
  { keys: ["p"], action: "part", words: "another part of a composite" },
  { keys: ["/"], action: "search", words: "search the dictionary" },
  { keys: ["e"], action: "explain", words: "why this answer" },
  { keys: ["u"], action: "undo", words: "undo the last decision" },
  { keys: ["f"], action: "flag", words: "flag or unflag the mention" },
  { keys: ["t"], action: "note", words: "write a note on the mention" },
  { keys: ["b"], action: "bulk", words: "accept all above a confidence" },
  { keys: ["i"], action: "walk", words: "mark by keys: arrows, Shift, Enter" },
  { keys: ["+", "Insert"], action: "mark", words: "mark the selected text" },
  { keys: ["&"], action: "piece", words: "add the selected text as a piece" },
  { keys: ["s"], action: "split", words: "split the mention into parts" },
  { keys: ["y"], action: "type", words: "the type of the mention" },
  { keys: ["Delete"], action: "unmark", words: "it is no mention" },
  { keys: ["Shift", "←", "→"], action: "ends", words: "move the mention's end (Ctrl: start, Alt: by letters)" },
  { keys: ["v"], action: "turn", words: "the other view: queue or documents" },
  { keys: ["c"], action: "conflict", words: "where reviewers disagree" },
  { keys: ["?"], action: "help", words: "this help" },
];
