/* A concept of the dictionary, as GET /concepts/{id} has it: what it means and is called, its place
   in the hierarchy, and its ids elsewhere. */

import { getJson } from "./api.js";
import { button, external, make, plural, showingLatest } from "./elements.js";

const SHOWN = 12; // names or ids that are shown at once
const CHILDREN = 6; // that are shown at once
const SHORT = 300; // characters of a definition that is not folded
const KINDS = {
  exact: "Synonyms",
  narrow: "Narrower",
  broad: "Broader",
  related: "Related",
  abbreviation: "Short forms",
  training: "In annotated texts",
};
const PREDICATES = {
  "skos:exactMatch": "The same",
  "owl:equivalentClass": "The same",
  "skos:closeMatch": "Nearly the same",
  "skos:broadMatch": "Broader",
  "skos:narrowMatch": "Narrower",
  "skos:relatedMatch": "Related",
  "oboInOwl:hasDbXref": "Cross-references",
  "oboInOwl:hasAlternativeId": "Alternative ids",
};
const cache = new Map();

async function fetchConcept(id) {
  if (!cache.has(id)) cache.set(id, await getJson(`concepts/${encodeURIComponent(id)}`));
  return cache.get(id);
}

/** The name of a concept; empty where the dictionary has none of this id. */
export const nameOf = (id) => fetchConcept(id).then(({ name }) => name, () => "");

/** Ask for concepts anew, since the model may be another one. */
export const forgetConcepts = () => cache.clear();

/** Show a concept; `actions` are {about, choose, whyNot}, each called with an id; `choose` is absent
 * where nothing is decided, and `whyNot` is null for the answer itself.
 */
export const showConcept = showingLatest(
  "concept",
  async (id, actions) => id && card(await fetchConcept(id), actions),
);

function card(concept, { about, choose, whyNot }) {
  const { id, name, url, status, asked, definition } = concept;
  return [
    make("h3", { tabindex: "-1", "data-focus": true }, name),
    make("p", make("code", id), " ", url && external(url, "public page")),
    status !== "current" && make("p.note", `${asked} is ${status}; it stands for ${id} now.`),
    definition && foldedText(definition),
    make(
      "p.buttons",
      choose && button("Choose this concept", () => choose(id)),
      whyNot && button("Why not this one?", () => whyNot(id)),
    ),
    rows([...names(concept), ["Types", folded(concept.types ?? [], "type")]]),
    concept.also?.length > 0 && make("h4", "Other ids"),
    rows(otherIds(concept)),
    make("h4", "Place in the hierarchy"),
    tree(concept, about),
  ];
}

/** A list of titles, each with what stands under it; titles without anything are left out. */
function rows(all) {
  const filled = all.filter(([, shown]) => shown);
  const row = ([title, shown]) => [make("dt", title), make("dd", shown)];
  return filled.length > 0 && make("dl.card", filled.map(row));
}

/** Items in one line, the rest of many folded; null for none. */
function folded(items, noun) {
  const line = (some) => some.flatMap((item, number) => [number > 0 && " · ", item]);
  const rest = items.slice(SHOWN);
  if (!items.length) return null;
  const summary = make("summary", plural(rest.length, `more ${noun}`));
  const more = rest.length > 0 && make("details", summary, make("div", line(rest)));
  return [line(items.slice(0, SHOWN)), more];
}

function foldedText(text) {
  if (text.length <= SHORT) return make("p", text);
  const end = text.lastIndexOf(" ", SHORT);
  const cut = end > 0 ? end : SHORT;
  const summary = make("summary", "The rest of the definition");
  return [
    make("p", `${text.slice(0, cut)} …`),
    make("details", summary, make("p", `… ${text.slice(cut).trim()}`)),
  ];
}

/** The names by their kinds, each text once; behind those of the dictionary those that are lent. */
function* names({ name: preferred, names: all }) {
  const seen = new Set([preferred]);
  for (const [kind, title] of Object.entries(KINDS)) {
    const kinds = kind === "exact" ? ["preferred", kind] : [kind];
    const texts = new Map(); // by the file that lent them
    for (const { text, lent, source } of all.filter((name) => kinds.includes(name.kind))) {
      if (seen.has(text)) continue;
      seen.add(text);
      const lender = lent ? source : "";
      texts.set(lender, [...(texts.get(lender) ?? []), text]);
    }
    const line = ([lender, of]) =>
      make("div", folded(of, "name"), lender && make("span.note", ` lent by ${lender}`));
    yield [title, texts.size > 0 && [...texts].map(line)];
  }
}

/** The ids by what they are to the concept, and the file that says so. */
function otherIds({ also = [] }) {
  const groups = new Map();
  for (const { id, predicate, source, url } of also) {
    const key = JSON.stringify([PREDICATES[predicate] ?? predicate, source]);
    groups.set(key, [...(groups.get(key) ?? []), external(url, make("code", id))]);
  }
  return [...groups].map(([key, ids]) => {
    const [title, source] = JSON.parse(key);
    return [title, [folded(ids, "id"), make("span.note", ` by ${source}`)]];
  });
}

/** The ways from the roots down to the concept, merged to a tree, and its children. */
function tree(concept, about) {
  const roots = new Map();
  for (const path of concept.path?.length ? concept.path : [[concept]]) {
    let level = roots;
    for (const node of path) {
      if (!level.has(node.id)) level.set(node.id, { node, below: new Map() });
      level = level.get(node.id).below;
    }
  }
  let children = foldedNodes(concept.children ?? [], about); // of the first of the places
  const item = ({ node, below }) => {
    if (node.id !== concept.id) return make("li", nodeButton(node, about), list(below));
    const here = make("li", make("strong", { "aria-current": "true" }, concept.name), children);
    children = null;
    return here;
  };
  const list = (level, name = "ul") => make(name, [...level.values()].map(item));
  return list(roots, "ul.tree");
}

const nodeButton = ({ id, name }, about) =>
  button(name, () => about(id), { class: "node", title: id });

function foldedNodes(nodes, about) {
  const list = (some) => make("ul", some.map((node) => make("li", nodeButton(node, about))));
  const rest = nodes.slice(CHILDREN);
  const summary = make("summary", `${plural(rest.length, "more concept")} below it`);
  return [
    nodes.length > 0 && list(nodes.slice(0, CHILDREN)),
    rest.length > 0 && make("details", summary, list(rest)),
  ];
}
