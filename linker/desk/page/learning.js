/* Training again with what people decided: a button, and a dialog that shows how it goes. */

import { getJson, postJson, send } from "./api.js";
import { button, byId, make, percent, plural, table } from "./elements.js";

const EVERY = 1000; // milliseconds between two looks at a training that runs
const SOON = 1500; // milliseconds after a decision until the decisions are counted again
const LATER = 5000; // milliseconds until a service that does not answer is asked again

let asked = {}; // what the page gave
let timer = null;
let inDialog = null; // the state that the dialog shows
let isSoon = false; // whether they are counted soon: who decides fast does not put that off

/** Show the button. `reviewer` gives {reviewer}, or null; `taken` is told of a new model. */
export function listen(given) {
  asked = given;
  byId("learn").addEventListener("click", () => {
    byId("learning").showModal();
    inDialog = null;
    look();
  });
  return look();
}

/** Count the decisions again, soon. */
export function lookAgain() {
  if (asked.reviewer && !isSoon) wait(SOON, true);
}

async function look() {
  isSoon = false;
  try {
    show(await getJson("training"));
  } catch {
    wait(LATER); // the service is away for a while; what somebody does says so
  }
}

function wait(milliseconds, soon = false) {
  clearTimeout(timer);
  timer = setTimeout(look, milliseconds);
  isSoon = soon;
}

/** Do something about the training; what goes wrong is said in the dialog. */
async function act(action) {
  const state = await action().catch((error) => ({ state: "refused", error: error.message }));
  if (state) show(state);
}

/** Send a request in the name of the reviewer; nothing where that is not known. */
async function post(path) {
  const who = await asked.reviewer();
  return who && postJson(path, { reviewer: who.reviewer });
}

const start = () => act(() => post("training"));
const cancel = () => act(async () => (await send("training", { method: "DELETE" })).json());
const take = () =>
  act(async () => {
    const state = await postJson("training/take", {});
    asked.taken();
    return { ...state, state: "taken" };
  });

function show(state) {
  if (state.state !== "refused")
    Object.assign(byId("learn"), { textContent: wordsOf(state), hidden: false });
  if (state.state === "running") wait(EVERY);
  if (!byId("learning").open) return;
  // that the new model answers is said until the dialog is closed: a count of decisions that comes
  // a moment later would wipe it out
  if (state.state === "none" && inDialog === "taken") return;
  inDialog = state.state;
  const hadFocus = byId("training").contains(document.activeElement);
  byId("training").replaceChildren(...VIEWS[state.state](state).flat().filter(Boolean));
  if (hadFocus || document.activeElement === document.body) byId("learning-title").focus();
}

function wordsOf({ state, share, learnable }) {
  if (state === "running") return `Training: ${percent(share)}`;
  if (state === "done") return "A new model is ready";
  return learnable ? `Train again with ${plural(learnable, "decision")}` : "Train again";
}

const VIEWS = {
  none: asking,
  refused: ({ error }) => [make("p.conflict", { role: "alert" }, error)],
  failed: (state) => [
    make("p.conflict", { role: "alert" }, `The training failed: ${state.error}.`),
    asking(state),
  ],
  running: ({ share, what }) => [
    make("p", "The training runs beside the present model. You may go on, or leave the page."),
    make("progress", { max: 1, value: share, "aria-label": "Training" }),
    make("p.note", { role: "status" }, what),
    make("p", button("Cancel the training", cancel)),
  ],
  done: compared,
  taken: () => [make("p", { role: "status" }, "The new model answers from now on.")],
};

function asking({ learnable }) {
  if (!learnable) return [make("p", NOTHING)];
  return [
    make("p", `A new model learns ${plural(learnable, "accepted mention")}. ${HOW}`),
    make("p", button("Train", start, { class: "main" })),
  ];
}

const NOTHING =
  "There is nothing to learn yet: a training needs at least one accepted answer that holds everywhere.";
const HOW =
  "It is measured on decisions that it has not learnt, and the present one answers until you use it.";

function compared({ decisions, held_out: heldOut, old, new: found, better, worse }) {
  const isWorse = heldOut && found.right < old.right;
  const row = (name, of) => [
    make("th", { scope: "row" }, name),
    `${of.right} of ${heldOut}`,
    `${percent(of.accuracy)} (${of.interval.map(percent).join(" to ")})`,
  ];
  const header = ["Model", "Right", "Share, with its 95% interval"];
  return [
    make("p", { role: "status" }, `A new model has learnt ${plural(decisions, "decision")}.`),
    heldOut && table("table", header, [row("without them", old), row("new", found)]),
    make("p.note", heldOut
      ? `Of decisions that neither had learnt ${better} became right, and ${worse} wrong.`
      : "These are too few to measure what that is worth."),
    make("p.buttons", [
      button("Use the new model", take, { class: isWorse ? "" : "main" }),
      button("Keep the present model", cancel, { class: isWorse ? "main" : "" }),
    ]),
  ];
}
