// What opens above the page: the keys, the choice of a queue, the next run.
import { Search } from "./choosing.js";
import { KEYS } from "./keys.js";
import { Component, Dialog, Label, counted, html, many } from "./markup.js";
import { ask } from "./server.js";

const OFTEN = 1000; // ms between looks at a run

/** All keys, and a switch for those who need their keys for something else. */
export function Help({ keys, setKeys, close }) {
  return html`<${Dialog} title="Keys" kind="help" close=${close}>
    <dl class="keys">
      ${KEYS.map(([key, , about]) => html`<div key=${key}><dt><kbd>${key === "1" ? "1–9" : key.toUpperCase()}</kbd></dt><dd>${about}</dd></div>`)}
      <div><dt><kbd>Esc</kbd></dt><dd>Close, or go back to the card</dd></div>
    </dl>
    <p><label class="check"><input type="checkbox" checked=${keys} onChange=${(event) => setKeys(event.target.checked)} data-first /> Single keys decide and open things</label></p>
    <p class="quiet">Each decision is on disk before the next one is sent. If the server cannot be reached, decisions are kept in this browser and sent later: closing the page loses nothing.</p>
  <//>`;
}

/** Which cards come next. */
export class Queues extends Component {
  constructor(props) {
    super(props);
    this.state = { name: props.chosen.queue, value: props.chosen.value ?? "" };
  }

  choose(event) {
    event.preventDefault();
    this.props.choose(this.state.name, this.state.value.trim());
  }

  render({ state, close }, { name, value }) {
    const wanted = WANTED[name];
    return html`<${Dialog} title="Which cards come next?" kind="queues" close=${close}>
      <form onSubmit=${(event) => this.choose(event)}>
        <fieldset>
          <legend class="unseen">Queue</legend>
          ${state.queues.map(
            (queue) => html`<label key=${queue.name} class="queue">
              <input type="radio" name="queue" value=${queue.name} checked=${queue.name === name} data-first=${queue.name === name || null}
                onChange=${() => this.setState({ name: queue.name, value: "" })} />
              <span><strong>${queue.title}</strong> <small>${queue.about}</small></span>
              ${queue.count != null && html`<span class="number">${many(queue.count)}<span class="unseen"> cards</span></span>`}
            </label>`,
          )}
        </fieldset>
        ${wanted && html`<${Wanted} ...${wanted} options=${state[wanted.among]} value=${value} set=${(text) => this.setState({ value: text })} />`}
        <p class="buttons"><button type="submit" class="main" disabled=${Boolean(wanted) && !value.trim()}>Take these</button></p>
      </form>
    <//>`;
  }
}

export const WANTED = {
  of_type: { field: "type", title: "Type", among: "types" },
  of_relation: { field: "relation", title: "Relation", among: "relations" },
  search: { field: "text", title: "Words in a name" },
};

function Wanted({ title, options, value, set }) {
  const control = options
    ? html`<select id="queue-filter" value=${value} onChange=${(event) => set(event.target.value)}>
        <option value="">choose …</option>
        ${options.map((option) => html`<option key=${nameOf(option)} value=${nameOf(option)}>${optionText(option)}</option>`)}
      </select>`
    : html`<input id="queue-filter" type="search" dir="auto" autocomplete="off" value=${value} onInput=${(event) => set(event.target.value)} />`;
  return html`<p class="field"><label for="queue-filter">${title}</label>${control}</p>`;
}

const nameOf = (option) => (typeof option === "string" ? option : option.name);
const optionText = (option) => (typeof option === "string" ? option : option.count == null ? option.name : `${option.name} (${many(option.count)})`);

/** The card of any source. */
export function Find({ pick, close }) {
  return html`<${Dialog} title="Find a card" kind="find" close=${close}><${Search} side="source" pick=${pick} /><//>`;
}

/** Another run that learns from the decisions, and how far it is. */
export class Again extends Component {
  state = { run: null, trouble: null };

  componentDidMount() {
    this.look();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.gone = true;
  }

  async look() {
    await this.shown(ask("/run"));
  }

  async start() {
    await this.shown(ask("/run", {}));
    await this.look();
  }

  async shown(answer) {
    try {
      const run = await answer;
      if (this.gone) return;
      this.setState({ run, trouble: null });
      clearTimeout(this.timer);
      if (run.state === "running") this.timer = setTimeout(() => this.look(), OFTEN);
    } catch (error) {
      if (!this.gone) this.setState({ trouble: error.message });
    }
  }

  render({ state, close }, { run, trouble }) {
    const running = run?.state === "running";
    return html`<${Dialog} title="Run again with these decisions" kind="again" close=${close}>
      <p>The next run takes what you confirmed as known pairs, leaves out what you rejected, and learns from “no counterpart”. This run stays as it is.</p>
      ${trouble && html`<p class="warning" role="alert">${trouble}</p>`}
      ${run?.lines?.length > 0 && html`<pre tabindex="0" aria-label="What the run says">${run.lines.join("\n")}</pre>`}
      <p role="status">${told(run)}</p>
      ${run?.out && run.state === "done" && html`<p>Look at it with <code>emea review <${Label} text=${run.out} /></code></p>`}
      <p class="buttons">
        <button type="button" class="main" disabled=${running || !state.decided} onClick=${() => this.start()} data-first>${running ? "Running …" : `Run with ${counted(state.decided, "decision")}`}</button>
      </p>
    <//>`;
  }
}

function told(run) {
  return { running: "It is running; you may go on deciding.", done: "It is done.", failed: "It failed; what it said is above." }[run?.state] ?? "";
}
