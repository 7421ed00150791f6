/* What a concept that is chosen is to the mention: the kinds of mappings of SSSOM. */

import { announce, byId, fill, make } from "./elements.js";

const KINDS = {
  "": "exactly it",
  broad: "broader than it",
  narrow: "narrower than it",
  related: "related to it",
};

/** A kind in words, as a mark behind a concept; empty for one that is exactly meant. */
export const markOf = (predicate) => (predicate ? ` (${KINDS[predicate]})` : "");

/** Offer the kinds in the select element #predicate. */
export function offerKinds() {
  const option = ([value, words]) => make("option", { value }, words);
  fill(byId("predicate"), Object.entries(KINDS).map(option));
}

export const chosenKind = () => byId("predicate").value;

/** Choose a kind, the exact one if none is given. */
export const chooseKind = (kind = "") => void (byId("predicate").value = kind);

/** Choose the next kind, and say so. */
export function nextKind() {
  const kinds = Object.keys(KINDS);
  chooseKind(kinds[(kinds.indexOf(chosenKind()) + 1) % kinds.length]);
  announce(`The concept that is accepted next is ${KINDS[chosenKind()]}.`);
}
