/* Training again with what people decided: a button, and a dialog that shows how it goes. */

import { getJson, postJson, send } from "./api.js";
import { button, byId, make, percent, plural, table } from "./elements.js";

const EVERY = 1000; // milliseconds between two looks at a training that runs
const SOON = 1500; // milliseconds after a decision until the decisions are counted again
const LATER = 5000; // milliseconds until a service that does not answer is asked again
const IN_BULK = "Answers that were accepted in bulk are not learnt: nobody looked at them.";
const NOTHING =
  "There is nothing to learn yet: a training needs at least one accepted answer that holds everywhere.";
const CHANCE = 0.05; // the probability from which on a difference may well be chance

let asked = {}; // what the page gave
let timer = null;
let isSoon = false; // whether they are counted soon: who decides fast does not put that off

/** Show the button. `reviewer` gives {reviewer}, or null; `taken` is told of a new model. */
export function listen(given) {
  asked = given;
  byId("learn").addEventListener("click", () => {
    byId("learning").showModal();
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
  try {
    const state = await action();
    if (state) show(state);
  } catch (error) {
    fill(make("p.conflict", { role: "alert" }, error.message));
  }
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
    const state = await post("training/take");
    if (state) asked.taken();
    return state && { ...state, state: "taken" };
  });

function show(state) {
  const isRunning = state.state === "running";
  Object.assign(byId("learn"), { textContent: wordsOf(state), hidden: false });
  if (isRunning) wait(EVERY);
  if (!byId("learning").open) return;
  const meter = byId("training").querySelector("progress");
  if (isRunning && meter) {
    meter.value = state.share;
    byId("training").querySelector("[role=status]").textContent = state.what;
  } else fill(...VIEWS[state.state](state));
}

/** Show something in the dialog, which keeps the focus. */
function fill(...children) {
  const hadFocus = byId("training").contains(document.activeElement);
  byId("training").replaceChildren(...children.flat().filter(Boolean));
  if (hadFocus || document.activeElement === document.body) byId("learning-title").focus();
}

function wordsOf({ state, share, learnable }) {
  if (state === "running") return `Training: ${percent(share)}`;
  if (state === "done") return "A new model is ready";
  return learnable ? `Train again with ${plural(learnable, "decision")}` : "Train again";
}

const VIEWS = {
  none: asking,
  cancelled: (state) => [
    make("p", { role: "status" }, "The training was cancelled."),
    asking(state),
  ],
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

/** How many documents are complete, and what a training learns from them. */
export const completeIn = ({ complete, complete_needed: needed }) =>
  `${plural(complete, "document")} ${complete === 1 ? "is" : "are"} complete. Where mentions are is ` +
  `learnt from ${needed} on, unless the model has learnt it from more.`;

function asking(state) {
  const { learnable, learnt, complete } = state;
  const ofDocuments = complete > 0 && make("p.note", completeIn(state));
  if (!learnable) return [make("p", NOTHING), ofDocuments];
  const count = plural(learnable, "accepted mention");
  return [
    make("p", `A new model learns ${count}, and is measured on decisions that it has not learnt.`),
    make("p.note", IN_BULK),
    ofDocuments,
    make("p", "The present model answers until you use the new one."),
    learnt && make("p.note", `The present model has learnt ${plural(learnt, "decision")}.`),
    make("p", button("Train", start, { class: "main" })),
  ];
}

function compared(state) {
  const { decisions, held_out: heldOut, old, better, worse, p } = state;
  const isWorse = heldOut && state.new.right < old.right;
  const row = (name, of) => [
    make("th", { scope: "row" }, name),
    `${of.right} of ${of.mentions}`,
    `${percent(of.accuracy)} (${of.interval.map(percent).join(" to ")})`,
    of.confidence === null ? "" : percent(of.confidence),
  ];
  const header = ["Model", "Right", "Share, with its 95% interval", "Expected by confidence"];
  const figures = heldOut
    ? [
        table("table.compared", header, [row("present", old), row("new", state.new)]),
        make("p", changeOf(better, worse), better + worse > 0 && p > CHANCE && ` ${MAY_BE}`),
        make("p.note", `Measured on ${heldOut} decisions ${HELD_OUT}`),
      ]
    : [make("p.note", "These are too few to measure what that is worth.")];
  return [
    make("p", { role: "status" }, `A new model has learnt ${plural(decisions, "decision")}.`),
    ...figures,
    make("p.buttons", [
      button("Use the new model", take, { class: isWorse ? "" : "main" }),
      button("Keep the present model", cancel, { class: isWorse ? "main" : "" }),
    ]),
  ];
}

const changeOf = (better, worse) =>
  better + worse
    ? `${better} became right, ${worse} became wrong.`
    : "Both answer the same of them rightly.";
const MAY_BE = "Such a difference may well be chance.";
const HELD_OUT =
  "that the models had not learnt: five times a fifth, in the order in which they were made, by " +
  "models of the other four, without memory. The model that you use has learnt all.";
