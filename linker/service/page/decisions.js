/* Decisions that are made and withdrawn where no project keeps their steps. */

import { postJson, send } from "./api.js";
import { announce, attempt, button, make } from "./elements.js";
import { reviewer } from "./service.js";
import { joined, sentenceToItsReviewer } from "./verdicts.js";

export class Decisions {
  /** `changed` is called with a mention that was decided. */
  constructor(changed) {
    this.changed = changed;
    this.made = []; // {ids, mention, words} of what was decided here, which undo takes back
  }

  /** Keep a decision on a mention, and say so in words, and which earlier ones it replaces. */
  async make({ mention, ids, accepted, predicate, scope, settles }, words) {
    const who = await reviewer();
    if (!who) return;
    const concepts = { concept_id: joined(ids) || null, accepted, predicate, settles };
    const decision = { mention, ...concepts, scope, reviewer: who };
    const { decisions, replaced } = await postJson("decisions", { decisions: [decision] });
    const made = { ids: decisions.map(({ id }) => id), mention, words };
    this.made.push(made);
    await this.changed(mention);
    if (!replaced.length) return announce(words);
    const said = replaced.map(sentenceToItsReviewer).join(" and ");
    const undo = button("Undo", () => attempt(() => this.takeBack(made)));
    return announce(make("span.notice", `${words} ${said}; this replaces it. `, undo));
  }

  /** Take back what was decided last on this page. */
  undo() {
    const last = this.made.at(-1);
    if (!last) return announce("There is nothing to undo.");
    return this.takeBack(last);
  }

  takeBack({ ids, mention, words }) {
    return this.withdraw(ids, mention, `Taken back: ${words}`);
  }

  async withdraw(ids, mention, words) {
    const who = await reviewer();
    if (!who) return;
    await withdrawn(ids, who);
    this.made = this.made.filter((made) => !made.ids.some((id) => ids.includes(id)));
    await this.changed(mention);
    announce(words);
  }
}

/** Withdraw decisions by their ids, in the name of a reviewer. */
export async function withdrawn(ids, who) {
  for (const id of ids)
    try {
      const query = new URLSearchParams({ reviewer: who });
      await send(`decisions/${id}?${query}`, { method: "DELETE" });
    } catch (error) {
      if (error.status !== 404) throw error; // 404: somebody else withdrew it
    }
}
