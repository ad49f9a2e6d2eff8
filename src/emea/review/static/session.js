// What happens in a review: cards come, are decided, are taken back; what others do is looked at now and then.
import { shownConfidence, shownTarget, spoken } from "./cardview.js";
import { Dealer } from "./dealing.js";
import { WANTED } from "./dialogs.js";
import { counted, titleOf } from "./markup.js";
import { VERDICTS } from "./panels.js";
import { Outbox, ask } from "./server.js";

const POLL = 5000; // ms between looks at what others do
const AGAIN = 1000; // ms until a card that is not complete is asked for again
const RECENT = 8; // decisions that can be opened again at once
const FIRST = "informative"; // queue

export class Session {
  /** `changed` is called when there is something new to draw, `came` when another card is there, `say` with what to read aloud. */
  constructor(state, { changed, came, say }) {
    Object.assign(this, { state, changed, came, say });
    this.queue = (state.queues.find((each) => each.name === FIRST) ?? state.queues[0])?.name ?? FIRST;
    this.value = ""; // of the queue's filter
    this.view = null; // the card that is shown, and what one does with it
    this.recent = [];
    this.message = "";
    this.refusal = null; // why the last decision was not taken
    this.estimate = this.unmeasured = this.away = null;
    this.outbox = new Outbox(JSON.stringify([state.run, state.graphs, state.who]), {
      changed,
      refused: ({ source }, error) => {
        this.refusal = `The server did not take ${source ? "the decision on this card" : "this"}: ${error.message}`;
        this.say(this.refusal);
      },
    });
    this.dealer = new Dealer({
      skipped: () => this.outbox.entries().map(({ body }) => body.source).filter(Boolean),
      changed: () => this.dealt(),
    });
    this.dealer.choose(this.queue, null);
  }

  start() {
    window.addEventListener("online", () => this.outbox.flush());
    this.outbox.flush();
    this.dealer.fill();
    this.measure();
    setTimeout(() => this.poll(), POLL);
  }

  async poll() {
    const before = this.state.decided;
    await this.look();
    if (this.state.decided !== before) this.measure();
    if (this.dealer.trouble) this.dealer.fill();
    setTimeout(() => this.poll(), POLL);
  }

  async look() {
    try {
      this.state = await ask("/state");
      this.away = null;
    } catch (error) {
      this.away = error;
    }
    this.changed();
  }

  async measure() {
    try {
      this.estimate = await ask("/estimate");
      this.unmeasured = null;
    } catch (error) {
      this.unmeasured = error.message;
    }
    this.changed();
  }

  tell(message) {
    this.message = message;
    this.say(message);
    this.changed();
  }

  /** A card may have come: show it, if another one or none is shown. */
  dealt(before = "") {
    const card = this.dealer.current;
    if (!card) this.view = null;
    else if (this.view?.card !== card) {
      const shown = card.proposed ?? card.candidates[0]?.target.name ?? null;
      this.view = { card, shown, other: null, comment: localStorage.getItem(this.draft(card)) ?? "" };
      this.came();
      if (card.loading) this.complete(card, 0);
      this.say([before, spoken(this.view)].filter(Boolean).join(" "));
    }
    this.changed();
  }

  /** A card that came before the server had read the graphs: ask for the rest of it. */
  async complete(card, wait = AGAIN) {
    await new Promise((passed) => setTimeout(passed, wait));
    if (this.dealer.current !== card) return;
    const whole = await ask("/card", { source: card.source.name }).catch(() => card);
    if (this.dealer.current !== card) return;
    this.dealer.current = whole;
    this.view = { ...this.view, card: whole };
    if (whole.loading) this.complete(whole);
    this.changed();
  }

  /** Where a comment is kept until it is sent. */
  draft(card) {
    return `emea-review-draft/${this.state.run}/${card.source.name}`;
  }

  write(comment) {
    this.view = { ...this.view, comment };
    localStorage.setItem(this.draft(this.view.card), comment);
    this.changed();
  }

  /** Compare the source with this target: a candidate, or one that was searched for. */
  pick(name, other = this.view.other) {
    this.view = { ...this.view, shown: name, other };
    this.message = "";
    this.say(spoken(this.view));
    this.changed();
  }

  decide(verdict) {
    const { view } = this;
    if (!view) return;
    const { card, comment } = view;
    const target = verdict === "none" ? null : shownTarget(view);
    if ((verdict === "yes" || verdict === "no") && !target) {
      this.tell("No target is shown: press / to search for one, or 0 if there is none.");
      return;
    }
    const shown = {
      confidence: shownConfidence(view),
      queue: this.queue,
      candidates: card.candidates.map((each) => each.target.name),
      hidden: card.hidden,
    };
    const body = { source: card.source.name, target: target?.name ?? null, verdict, comment: comment.trim(), shown };
    this.refusal = null;
    const sent = this.outbox.put("/decisions", body);
    localStorage.removeItem(this.draft(card));
    this.recent = [{ card, verdict, target, key: performance.now() }, ...this.recent].slice(0, RECENT);
    this.state = counting(this.state, verdict, card);
    const names = [card.source, verdict === "unsure" ? null : target].filter(Boolean).map(titleOf).join(" ↔ ");
    this.message = `${VERDICTS[verdict][1]}: ${names}`;
    this.dealer.advance();
    this.dealt(`${VERDICTS[verdict][1]}. Next.`);
    sent.then(() => card.hidden && this.measure(), () => this.returned(card));
  }

  /** A decision was not taken: its card is open again. */
  returned(card) {
    this.recent = this.recent.filter((each) => each.card !== card);
    this.dealer.before(card);
    this.look();
  }

  async undo() {
    this.refusal = null;
    this.tell("Taking back …");
    const { undone = [] } = await this.outbox.put("/undo", {}).catch(() => ({}));
    if (!undone.length) {
      this.tell("There is nothing of yours to take back.");
      return;
    }
    const [{ source }] = undone;
    const sources = new Set(undone.map((each) => each.source));
    const known = this.recent.find(({ card }) => card.source.name === source && !card.decided)?.card;
    this.recent = this.recent.filter(({ card }) => !sources.has(card.source.name));
    if (undone.length === 1) await this.reopen(source, known);
    this.tell(`Taken back: ${undone.length > 1 ? counted(undone.length, "decision") : titleOf(known?.source ?? { name: source })}.`);
    await Promise.all([this.look(), this.measure()]);
  }

  /** Show the card of a source again, before the present one. */
  async reopen(source, known) {
    try {
      this.dealer.before(known ?? (await ask("/card", { source })));
    } catch (error) {
      this.tell(`This card could not be opened: ${error.message}`);
    }
  }

  /** Go on with the queue without a decision, where there is one already. */
  leave() {
    if (!this.view?.card.decided) return;
    this.dealer.advance();
    this.dealt();
  }

  choose(queue, value) {
    const wanted = WANTED[queue];
    this.queue = queue;
    this.value = wanted ? value : "";
    this.message = "";
    this.dealer.choose(queue, wanted ? { [wanted.field]: value } : null);
    this.dealt();
    this.dealer.fill();
  }

  async accept(body, count) {
    const answer = await this.outbox.put("/bulk", body);
    this.dealer.restart();
    this.dealt();
    this.dealer.fill();
    this.tell(`Accepted ${counted(answer.count ?? count, "link")}; Z takes all of them back.`);
    await Promise.all([this.look(), this.measure()]);
  }
}

/** The counts as they will be when the decision has arrived. */
function counting(state, verdict, card) {
  const verdicts = { ...state.by_verdict };
  verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  if (card.decided) return state;
  const people = (state.people ?? []).map((each) => (each.who === state.who ? { ...each, decided: each.decided + 1 } : each));
  return { ...state, decided: state.decided + 1, by_verdict: verdicts, people };
}
