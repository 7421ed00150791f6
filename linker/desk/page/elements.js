/* Elements of the page. Everything that is shown goes in as text, never as HTML. */

export const byId = (id) => document.getElementById(id);

/** Make an element: make("p.note", { title: "…" }, "text", child, …).
 *
 * Attributes may be left out; `on…` are listeners, and those that are null or false do not count.
 */
export function make(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  element.className = classes.join(" ");
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  return fill(element, ...children);
}

/** Replace what is in an element; children are elements, texts, lists of them, or nothing.
 *
 * Where the focus was in it, the new heading that takes the focus gets it, or else the answer's.
 */
export function fill(element, ...children) {
  const shown = children.flat(Infinity).filter((c) => c || c === 0);
  const focused = element !== document.activeElement && element.contains(document.activeElement);
  element.replaceChildren(...shown);
  if (focused) (element.querySelector("[data-focus]") ?? byId("answer")).focus(QUIETLY);
  return element;
}

const QUIETLY = { preventScroll: true };

/** A function that shows in an element what its latest call gives, or why that failed. */
export function showingLatest(id, ask) {
  let latest = 0;
  return async (...args) => {
    const number = ++latest;
    const shown = await ask(...args).catch((error) => make("p.note", error.message));
    if (number === latest) fill(byId(id), shown);
  };
}

export const button = (text, onclick, attributes = {}) =>
  make("button", { type: "button", onclick, ...attributes }, text);

/** Open a dialog; give what was typed or chosen in it, or null where it was closed. */
export function ask(id) {
  const dialog = byId(id);
  const form = dialog.querySelector("form");
  return new Promise((resolve) => {
    let value = null;
    form.onsubmit = (event) => {
      event.preventDefault();
      value = new FormData(form).get("value").trim() || null;
      dialog.close();
    };
    form.querySelector(".cancel").onclick = () => dialog.close();
    dialog.onclose = () => resolve(value);
    form.reset();
    dialog.showModal();
  });
}

/** Say what happened, on the status line and to screen readers. */
export const announce = (...words) => void fill(byId("status"), words);

let before = null; // what had the focus before the problem

/** Show what went wrong, with a button that tries it again. */
export function showProblem(problem, again) {
  before = document.activeElement;
  const retry = () => {
    clearProblem();
    again();
  };
  const buttons = [again && button("Try again", retry), button("Close", clearProblem)];
  fill(byId("problem"), make("p", problem.message), buttons).hidden = false;
}

export function clearProblem() {
  if (byId("problem").contains(document.activeElement)) before?.focus(QUIETLY);
  fill(byId("problem")).hidden = true;
}

export const count = (number) => number.toLocaleString("en");
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A share as a percentage, which says 0% and 100% only where it is that. */
export function percent(share) {
  if (share > 0 && share < 0.01) return "<1%";
  if (share > 0.99 && share < 1) return ">99%";
  return `${Math.round(share * 100)}%`;
}

export const meterOf = (confidence) =>
  make("meter", { min: 0, max: 1, value: confidence, "aria-label": "Confidence" });

/** A link to a page elsewhere; only its text where the address is none that may be followed. */
export function external(address, text) {
  if (!/^https?:\/\//i.test(address ?? "")) return text;
  const outside = { href: address, target: "_blank", rel: "noopener noreferrer" };
  return make("a", outside, text, make("span.unseen", " (opens a new tab)"));
}

/** Rows of cells as a table; cells are texts or elements. */
export function table(name, header, rows) {
  const head = make("tr", header.map((text) => make("th", { scope: "col" }, text)));
  const cells = (row) => row.map((cell) => (cell instanceof Element ? cell : make("td", cell)));
  return make(name, make("thead", head), make("tbody", rows.map((row) => make("tr", cells(row)))));
}

/** Whether what failed may do so no more: the service does not refuse it for what it is. */
const mayPass = ({ status }) => !(status >= 400 && status < 500) || PASSING.has(status);
const PASSING = new Set([401, 409, 429]); // no key, changed meanwhile, too much at a time

/** Do something; where it fails, say so, with a button that does it again if that may help. */
export function attempt(action) {
  clearProblem();
  return attemptBehind(action);
}

/** As `attempt`, behind something else: what went wrong with that stays in sight. */
export async function attemptBehind(action) {
  try {
    return await action();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    announce("");
    showProblem(error, mayPass(error) && (() => attempt(action)));
    return undefined;
  }
}
