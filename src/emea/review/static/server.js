// How the page talks to its server. What must not be lost is kept in this browser until the server has acknowledged it.

const WAITS = [500, 1000, 2000, 5000, 10000]; // ms between attempts
const PATIENCE = 15000; // ms for one answer

/** The server answered, and said no. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Ask for JSON; with a body, by POST. */
export async function ask(path, body) {
  const given = { credentials: "same-origin", headers: { Accept: "application/json" }, signal: AbortSignal.timeout(PATIENCE) };
  if (body !== undefined) {
    given.method = "POST";
    given.headers["Content-Type"] = "application/json";
    given.headers["X-Emea"] = "review";
    given.body = JSON.stringify(body);
  }
  const answer = await fetch(path, given);
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told.error ?? told.detail ?? `the server answered ${answer.status}`);
  return told;
}

/** A key that no other event has, so that one sent twice is stored once. */
export function newKey() {
  const parts = crypto.getRandomValues(new Uint32Array(4)); // randomUUID exists only under https and on localhost
  return [...parts].map((part) => part.toString(16).padStart(8, "0")).join("");
}

/** Whether an answer speaks of the server's state rather than of what was sent. */
function passing(error) {
  return !(error instanceof Refused) || error.status >= 500 || [401, 403, 408, 429].includes(error.status);
}

/** Decisions and undos on their way to the server, in order. Each is an entry of the browser's storage until it is there. */
export class Outbox {
  constructor(owner, { changed, refused }) {
    this.prefix = `emea-review/${owner}/`;
    this.listeners = { changed, refused };
    this.answers = new Map(); // name of an entry → what waits for its answer
    this.trouble = null;
    this.failures = 0;
    this.sending = false;
    this.at = 0;
  }

  /** Names of what waits, the oldest first. */
  waiting() {
    return Object.keys(localStorage).filter((name) => name.startsWith(this.prefix)).sort();
  }

  /** What waits, with what it says. */
  entries() {
    return this.waiting().map((name) => JSON.parse(localStorage.getItem(name)));
  }

  /** Keep this, and send it; the promise is fulfilled with the server's answer. */
  put(path, body) {
    const key = newKey();
    this.at = Math.max(Date.now(), this.at + 1); // also within a millisecond the order is that of the keys pressed
    const name = `${this.prefix}${String(this.at).padStart(15, "0")}-${key}`;
    localStorage.setItem(name, JSON.stringify({ path, body: { key, ...body } }));
    const answered = new Promise((fulfil, reject) => this.answers.set(name, { fulfil, reject }));
    this.listeners.changed();
    this.flush();
    return answered;
  }

  /** Send all that waits; after a failure try again by and by. */
  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.timer);
    try {
      for (let names = this.waiting(); names.length; names = this.waiting()) await this.send(names[0]);
      this.trouble = null;
      this.failures = 0;
    } catch (error) {
      this.trouble = error;
      this.timer = setTimeout(() => this.flush(), WAITS[Math.min(this.failures++, WAITS.length - 1)]);
    } finally {
      this.sending = false;
      this.listeners.changed();
    }
  }

  async send(name) {
    const { path, body } = JSON.parse(localStorage.getItem(name));
    const waiter = this.answers.get(name);
    let told;
    try {
      told = await ask(path, body);
    } catch (error) {
      if (passing(error)) throw error;
      this.forget(name);
      this.listeners.refused(body, error);
      waiter?.reject(error);
      return;
    }
    this.forget(name);
    waiter?.fulfil(told);
  }

  forget(name) {
    localStorage.removeItem(name);
    this.answers.delete(name);
  }
}
