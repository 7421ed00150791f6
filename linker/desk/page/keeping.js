/* What this browser keeps: names, options, and what was typed. Where it keeps nothing (a private
   window, a full disk), the page does without. */

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
