/* What people do in a project, one step after the other; the service keeps each, and undoes it. */

import { getJson, postJson, send } from "./api.js";
import { announce, ask, attemptBehind, button, byId, clearProblem, count, make, plural } from "./elements.js";
import { showNotes, wrongOf } from "./overview.js";
import { look, sendSource } from "./projects.js";
import { isUndecided } from "./queue.js";
import { who } from "./service.js";
import { longForm } from "./predictions.js";
import { askReading } from "./reading.js";
import { formOf } from "./text.js";
import { disputants, joined, sentenceToItsReviewer } from "./verdicts.js";

const DAY = { dateStyle: "long", timeStyle: "short" };
const CHANGED = 409; // the status of what is refused since it is another thing by now
const FEW = 10; // rows: an undo of more is shown by reading the queue anew

export class Steps {
  /** `address` is that of the project; `page` shows what becomes of it:
   *
   * - `changed` is called with what the service answers: rows that changed, and the summary.
   * - `refresh` reads all anew that is shown, and `showSummary` shows a summary.
   * - `place` tells the place of the selected row, or where it was, `placeBehind` that of the row behind
   *   it, which has its place where it is gone; `row` which it is, and `key` its key.
   * - `goOn` selects the next undecided row behind a place, and tells whether there is one.
   * - `goTo` selects the row of a key.
   * - `isNoting` tells whether somebody is at the note of the selected row, which then stays.
   */
  constructor(address, page) {
    Object.assign(this, { address, page, acting: Promise.resolve(), busy: false, failed: 0 });
  }

  /** Do what changes the project, one after the other, however fast the keys come; what it gives. */
  act(action) {
    const { failed } = this;
    clearProblem();
    this.acting = this.acting.then(async () => {
      if (failed !== this.failed) return undefined; // another row was selected when it was asked for
      this.busy = true;
      const done = await attemptBehind(action);
      this.busy = false;
      return done;
    });
    return this.acting;
  }

  /** Keep a decision of the panel on an entry, and say so in words. Meanwhile the next row, which
   * was fetched ahead, is shown; `number` is that of the document that is shown, null for the queue.
   */
  async decide(entry, decision, { words, goesOn, number }) {
    const { ids, parts, accepted, predicate, asWritten, isHere, settles } = decision;
    const isShort = Boolean(asWritten && longForm(entry.prediction));
    const kept = { key: entry.row.key, concept_id: joined(ids) || null, accepted, predicate, settles };
    const where = { here: isHere, as_written: isShort, ...(number && { document: number }) };
    const isSplit = isHere || isShort; // the rest of the row becomes one of its own
    const isOfPart = ids.includes(null); // so that the row may stay open
    if (isOfPart) kept.part_texts = parts.map(({ text }) => text); // another model may read others
    const waits = isSplit || isOfPart || number; // for what becomes of the row, or of the text
    const moves = goesOn && accepted;
    const place = this.page.place();
    const reviewer = await who();
    if (!reviewer) return undefined;
    const goOn = async () => {
      const hasNext = moves && !waits && (await this.page.goOn(place));
      return [hasNext, this.page.key()];
    };
    const going = goOn();
    const body = { ...reviewer, decisions: [{ ...kept, ...where }] };
    const answer = await this.send("decisions", body).catch(async (error) => {
      const [, key] = await going.catch(() => [false, null]);
      if (this.page.key() === key) await this.page.goTo(entry.row.key); // nothing is decided there
      if (error.status === CHANGED) await this.page.refresh();
      this.failed += 1;
      throw error;
    });
    let [hasNext, key] = await going;
    const isElsewhere = this.page.key() !== key; // the reviewer went there meanwhile
    await this.page.changed(answer);
    if (isSplit) await this.page.refresh();
    if (isElsewhere) hasNext = true;
    else if (moves && isOfPart && (await this.staysAt(entry, isSplit && !number, answer.rows)))
      hasNext = true;
    else if (moves && waits) hasNext = await this.page.goOn(place - 1);
    else if (moves && !hasNext)
      hasNext = await this.page.goOn(this.page.placeBehind() - 1); // the list may have further rows now
    else if (hasNext && !isUndecided(this.page.row()))
      hasNext = await this.page.goOn(this.page.place()); // the decision was on that row, too
    const last = moves && !hasNext ? " Nothing undecided is below it." : "";
    const said = answer.replaced.map(sentenceToItsReviewer).join(" and ");
    if (!said) return announce(`${words}${last}`);
    return this.announce(`${words} ${said}; this replaces it.${last} `);
  }

  /** Whether parts of a row are open after a decision on one of them, so that it stays selected; of
   * the mentions of a document that the decision split off, their row is selected then.
   */
  async staysAt({ row }, isSplitOff, rows) {
    const key = isSplitOff ? `${row.key.split("@")[0]}@${row.first.document}` : row.key;
    const isOpen = rows.some((other) => other.key === key && other.state === "open");
    if (isOpen && isSplitOff) await this.page.goTo(key);
    return isOpen;
  }

  send(path, body) {
    return postJson(`${this.address}/${path}`, body);
  }

  /** Say something, with a button that undoes it. */
  announce(words) {
    return announce(make("span.notice", words, button("Undo", () => this.undo())));
  }

  /** Undo the last step of the reviewer. */
  undo() {
    return this.act(async () => {
      const reviewer = await who();
      if (!reviewer) return undefined;
      const last = await getJson(`${this.address}/undo?${new URLSearchParams(reviewer)}`);
      if (last.step === null) return announce("There is nothing to undo.");
      if (isBulkOfAnotherDay(last) && !(await this.askUndo(last)))
        return announce("Nothing was taken back.");
      const undone = await this.send("undo", { ...reviewer, step: last.step });
      await this.page.changed(undone);
      const { rows, words } = undone;
      if (rows.length && rows.length <= FEW && !this.page.isNoting()) await this.page.goTo(rows[0].key);
      else await this.page.refresh();
      return announce(`Taken back: ${words}`);
    });
  }

  /** Ask before a bulk of another day is taken back. */
  askUndo({ words, time, changes }) {
    byId("undoing-words").textContent =
      `On ${new Date(time).toLocaleString("en-GB", DAY)}: ${words}. ` +
      `All ${count(changes)} changes of this step would be taken back.`;
    return ask("undoing");
  }

  /** Withdraw a decision, whoever made it. */
  withdraw({ id }) {
    return this.act(async () => {
      const reviewer = await who();
      if (!reviewer) return;
      const path = `decisions/${id}?${new URLSearchParams(reviewer)}`;
      await send(path, { method: "DELETE" }).catch(unlessNothing); // somebody else withdrew it
      this.page.showSummary(await getJson(this.address));
      await this.page.refresh();
      announce("The decision was withdrawn.");
    });
  }

  /** Accept all answers of the filters, after a question. */
  acceptAll(filters) {
    return this.act(async () => {
      const answer = await filters.acceptAll();
      if (!answer) return;
      this.page.showSummary(answer.summary);
      await this.page.refresh();
      const wrong = wrongOf(answer.expected_wrong);
      this.announce(`${plural(answer.mentions, "mention")} accepted, ${wrong}. `);
    });
  }

  /** Accept what a new release changes, after a question where there is one; `choose` gives what is
   * accepted when its turn comes, null for nothing. */
  acceptChanges(choose, question) {
    return this.act(async () => {
      const wanted = choose();
      if (!wanted) return announce("This one has no Accept: decide it anew in the queue.");
      if (question) byId("bulk-words").textContent = question;
      if (question && !(await ask("bulk"))) return announce("Nothing was accepted.");
      const reviewer = await who();
      if (!reviewer) return undefined;
      const { decisions } = await postJson("decisions/changes", { ...reviewer, ...wanted });
      this.page.showSummary(await getJson(this.address));
      await this.page.refresh();
      return this.announce(`${plural(decisions.length, "decision")} accepted. `);
    });
  }

  /** Settle a row by what one of its reviewers decided. */
  settle(row, { concept_id: ids, accepted, predicate, scope, mention }) {
    const isShort = row.expanded !== null && formOf(mention) === formOf(row.mention);
    const where = { here: Boolean(scope), as_written: Boolean(scope) && isShort };
    const settles = disputants({ state: "disputed", decisions: row.decisions });
    return this.act(async () => {
      const reviewer = await who();
      if (!reviewer) return;
      const said = { concept_id: ids, accepted, predicate, settles };
      const decisions = [{ key: row.key, ...said, ...where }];
      const place = this.page.place();
      await this.page.changed(await this.send("decisions", { ...reviewer, decisions }));
      await this.page.refresh();
      if (this.page.key() === row.key) await this.page.goOn(place - 1); // it is in the list no more
      announce("Settled.");
    });
  }

  /** Link the project anew, by the present model. */
  relink() {
    return this.act(async () => {
      this.page.showSummary(await this.send("relink", {}));
      await this.page.refresh();
      announce("The project is being linked anew; decisions stay.");
    });
  }

  /** Add files to the project, which has an id and a kind, once somebody has seen what they are read
   * as.
   */
  async add(files, limits, { id, kind }) {
    const given = files.map((file) => ({ file: file.name, content: file }));
    let sources = null;
    await this.act(async () => {
      sources = await askReading(given, (source) => look(source, { limits, project: id }), kind);
      if (!sources) announce("Nothing was kept.");
    });
    if (sources) await this.take(sources, limits);
  }

  /** Take sources into the project; with `again` also decisions that were made before and hold no
   * more, which a button offers where a file has some.
   */
  take(sources, limits, again = false) {
    return this.act(async () => {
      const [notes, repeated] = [[], []];
      const takeAgain = button("Take these decisions again", () => this.take(repeated, limits, true));
      for (const source of sources) {
        const summary = await sendSource(`${this.address}/sources`, source, { limits, again });
        if (!summary) return;
        this.page.showSummary(summary);
        notes.push(...summary.notes);
        if (summary.repeated > 0) repeated.push(source);
        showNotes(notes, repeated.length > 0 && takeAgain);
        announce(`${source.file} was added.`);
      }
      await this.page.refresh();
    });
  }
}

/** Whether a step changed several things at once, and not today. */
const isBulkOfAnotherDay = ({ changes, time }) =>
  changes > 1 && new Date(time).toDateString() !== new Date().toDateString();

function unlessNothing(error) {
  if (error.status === 404) return null;
  throw error;
}
