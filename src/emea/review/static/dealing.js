// Cards are asked for ahead, so that the next one is there when a decision is made.
import { ask } from "./server.js";

const AHEAD = 2; // cards kept ready

export class Dealer {
  constructor({ skipped, changed }) {
    this.skipped = skipped; // sources that are decided but perhaps not yet known to the server
    this.changed = changed;
    this.choose(null, null);
  }

  /** Deal from another queue from now on. */
  choose(queue, filter) {
    this.queue = queue;
    this.filter = filter;
    this.restart();
  }

  /** Forget the cards kept ready; what is being asked for is thrown away when it comes. */
  restart() {
    this.ahead = [];
    this.current = null;
    this.done = null; // why there is no next card
    this.trouble = null;
    this.asking = null;
  }

  /** The next card becomes the current one; if it is not there yet, it will when it comes. */
  advance() {
    this.current = this.ahead.shift() ?? null;
    return this.fill();
  }

  /** Show this card now, and the present one after it. */
  before(card) {
    if (this.current && this.current.source.name !== card.source.name) this.ahead.unshift(this.current);
    this.ahead = this.ahead.filter((each) => each.source.name !== card.source.name);
    this.current = card;
    this.changed();
  }

  /** Ask for cards until enough are ready. */
  fill() {
    this.asking ??= this.asked().finally(() => this.changed());
    return this.asking;
  }

  async asked() {
    const mine = () => this.asking === asking;
    await null; // until `asking` is set
    const asking = this.asking;
    this.done = this.trouble = null;
    try {
      while (mine() && (!this.current || this.ahead.length < AHEAD)) {
        const held = [this.current, ...this.ahead].filter(Boolean).map((card) => card.source.name);
        const card = await ask("/next", { queue: this.queue, filter: this.filter, skip: [...held, ...this.skipped()] });
        if (!mine()) return;
        if (card.done || held.includes(card.source.name)) {
          this.done = card.why ?? "There are no more cards in this queue.";
          break;
        }
        if (this.current) this.ahead.push(card);
        else {
          this.current = card;
          this.changed();
        }
      }
    } catch (error) {
      if (mine()) this.trouble = error;
    }
    if (mine()) this.asking = null;
  }
}
