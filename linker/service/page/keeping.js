/* What this browser keeps: names and options, and what was entered, so that a reload loses nothing.
   Where it keeps nothing (a private window, a full disk), the page does without. */

const PLACE = "linker.place"; // where the user is in what was entered
const RECORDS = 10; // what was entered last, one record for each tab

/** A storage of the browser, or a memory until the page is left where that one refuses. */
function storage(name) {
  const memory = new Map();
  const attempt = (action) => {
    try {
      return action(window[name]);
    } catch {
      return null;
    }
  };
  return {
    get: (key) => attempt((kept) => kept.getItem(key)) ?? memory.get(key) ?? null,
    set: (key, value) => {
      memory.set(key, value);
      attempt((kept) => (value === null ? kept.removeItem(key) : kept.setItem(key, value)));
    },
  };
}

export const browser = storage("localStorage");
export const tab = storage("sessionStorage");
const own = JSON.parse(tab.get(PLACE))?.key ?? Date.now(); // the key of this tab's record

/** Keep where the user is, an object: in this tab, and for a new one. */
export function keepPlace(place) {
  for (const kept of [tab, browser]) kept.set(PLACE, JSON.stringify({ ...place, key: own }));
}

/** Keep what was entered: {text, files}. */
export const keepEntered = (entered) =>
  inRecords("readwrite", (records) => {
    records.getAllKeys().onsuccess = ({ target }) =>
      target.result
        .filter((key) => key !== own)
        .slice(0, -RECORDS)
        .forEach((key) => records.delete(key));
    return records.put({ ...entered, key: own });
  });

/** What this tab kept, or else the tab that was used last: what was entered, and the place. */
export async function readKept() {
  const place = JSON.parse(tab.get(PLACE) ?? browser.get(PLACE));
  const entered = place && (await inRecords("readonly", (records) => records.get(place.key)));
  return entered ? { ...place, ...entered } : null;
}

/** Forget what was entered, in all tabs. */
export function forget() {
  for (const kept of [tab, browser]) kept.set(PLACE, null);
  return inRecords("readwrite", (records) => records.clear());
}

let database = null;

/** The result of a request to the records; undefined where the browser refuses it. */
async function inRecords(mode, request) {
  try {
    database ??= resultOf(indexedDB.open("linker", 1), (opening) =>
      opening.result.createObjectStore("entered", { keyPath: "key" }),
    );
    const records = (await database).transaction("entered", mode).objectStore("entered");
    return await resultOf(request(records));
  } catch {
    return undefined;
  }
}

const resultOf = (request, upgrade) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onupgradeneeded = () => upgrade(request);
  });
