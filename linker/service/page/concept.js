/* A concept of the dictionary, as GET /concepts/{id} has it: its names, and its place as a tree. */

import { getJson } from "./api.js";
import { button, external, make, plural, showingLatest } from "./elements.js";

const SHOWN = 12; // names or children that are shown at once
const cache = new Map();

async function fetchConcept(id) {
  if (!cache.has(id)) cache.set(id, await getJson(`concepts/${encodeURIComponent(id)}`));
  return cache.get(id);
}

/** The name of a concept; empty where the dictionary has none of this id. */
export const nameOf = (id) => fetchConcept(id).then(({ name }) => name, () => "");

/** Ask for concepts anew, since the model may be another one. */
export const forgetConcepts = () => cache.clear();

/** Show a concept; `actions` are {about, choose, whyNot}, each called with an id. */
export const showConcept = showingLatest(
  "concept",
  async (id, actions) => id && card(await fetchConcept(id), actions),
);

function card(concept, { about, choose, whyNot }) {
  const { id, name, url, status, asked, definition } = concept;
  return [
    make("h3", { tabindex: "-1", "data-focus": true }, name),
    make("p", make("code", id), " ", external(url, "public page")),
    status !== "current" && make("p.note", `${asked} is ${status}; it stands for ${id} now.`),
    definition && make("p", definition),
    make("h4", "Place in the hierarchy"),
    tree(concept, about),
    names(concept),
    facts(concept),
    make(
      "p.buttons",
      button("Choose this concept", () => choose(id)),
      button("Why not this one?", () => whyNot(id)),
    ),
  ];
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
  let children = folded(concept.children ?? [], about); // below the first of the places
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

function folded(nodes, about) {
  const list = (some) => make("ul", some.map((node) => make("li", nodeButton(node, about))));
  const rest = nodes.slice(SHOWN);
  const summary = make("summary", `${plural(rest.length, "more concept")} below it`);
  return [
    nodes.length > 0 && list(nodes.slice(0, SHOWN)),
    rest.length > 0 && make("details", summary, list(rest)),
  ];
}

function names(concept) {
  const texts = [...new Set(concept.names.map((name) => name.text))];
  const others = texts.filter((text) => text !== concept.name);
  const rest = others.slice(SHOWN);
  if (!others.length) return null;
  return [
    make("h4", "Also called"),
    make("p", others.slice(0, SHOWN).join(" · ")),
    rest.length > 0 &&
      make("details", make("summary", plural(rest.length, "more name")), rest.join(" · ")),
  ];
}

function facts(concept) {
  const lists = { Types: concept.types, "Other ids": concept.alt_ids, "See also": concept.xrefs };
  const rows = Object.entries(lists).filter(([, values]) => values?.length);
  return rows.map(([name, values]) => make("p.note", `${name}: ${values.join(", ")}`));
}
