/* Requests to the service. What fails becomes an Error whose message says what to do. */

import { tab } from "./keeping.js";

const BUSY = new Set([429, 503]);
const ATTEMPTS = 4;
const LONGEST_WAIT = 30; // seconds
export const KEY = "linker.key"; // where the API key is kept until the tab is closed

let renewing = null; // the answer that refused requests wait for

/** What a request needs of the page; page.js sets them. */
export const hooks = {
  waiting: (_seconds) => {}, // the service is busy, and is asked again later
  askKey: async (_wrong) => null, // gives the API key, or null; `_wrong`: one was refused
};

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Send a request and return the response, which is one of success. Paths are relative. */
export async function send(path, { method = "GET", body, type, signal } = {}) {
  for (let attempt = 1; ; attempt++) {
    const key = tab.get(KEY);
    const response = await fetchOnce(path, { method, body, type, signal });
    if (response.ok) return response;
    const asked = Number(response.headers.get("Retry-After")); // of what was not begun
    if (BUSY.has(response.status) && asked && attempt < ATTEMPTS) {
      const seconds = Math.min(asked, LONGEST_WAIT);
      hooks.waiting(seconds);
      await pause(seconds);
    } else if (response.status !== 401 || (key === tab.get(KEY) && !(await renewKey()))) {
      throw await problemOf(response);
    }
  }
}

export const getJson = async (path, options) => (await send(path, options)).json();

/** Send an object as JSON. */
export const post = (path, object, signal) =>
  send(path, { method: "POST", body: JSON.stringify(object), type: "application/json", signal });

export const postJson = async (path, object, signal) => (await post(path, object, signal)).json();

async function fetchOnce(path, { method, body, type, signal }) {
  const headers = {};
  const key = tab.get(KEY);
  if (type) headers["Content-Type"] = type;
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    return await fetch(path, { method, body, headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(
      "The service does not answer. Check that linker serve is running and that you are online, " +
        "then try again. What was decided before is safe.",
    );
  }
}

/** Ask for a key, once for all requests that are refused meanwhile; whether there is a new one. */
function renewKey() {
  renewing ??= hooks
    .askKey(tab.get(KEY) !== null)
    .then((key) => {
      if (key) tab.set(KEY, key);
      return Boolean(key);
    })
    .finally(() => {
      renewing = null;
    });
  return renewing;
}

async function problemOf(response) {
  let answer = {};
  try {
    answer = await response.json();
  } catch {
    // no JSON: a proxy in between answered
  }
  const { status } = response;
  const message = messageOf(status, sentence(answer.error ?? ""));
  return Object.assign(new Error(message), { status, answer });
}

function messageOf(status, reason) {
  if (BUSY.has(status)) return `The service is busy. ${reason} Wait a little, then try again.`;
  if (status === 401) return "The service wants its API key. Try again and type it in.";
  if (status === 413) return `That is too much at once. ${reason}`;
  if (status >= 500) return `The service failed (${status}). ${reason} Try again.`;
  return reason || `The service refused the request (${status}).`;
}

/** A reason as a sentence; the name of a file that it begins with stays as it is. */
function sentence(reason) {
  const begun = /^[a-z]+ /.test(reason) ? reason[0].toUpperCase() + reason.slice(1) : reason;
  return begun && begun.replace(/[.!?]?$/, (end) => end || ".");
}
