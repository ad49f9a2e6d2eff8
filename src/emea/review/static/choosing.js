// Which target: the candidates by number, or any other by search.
import { sure } from "./card.js";
import { Component, Key, Label, createRef, html, titleOf } from "./markup.js";
import { ask } from "./server.js";

const PAUSE = 150; // ms without a key before a search begins
export const NUMBERED = 9;

/** The candidates as buttons; the one that is compared is pressed. */
export function Candidates({ card, shown, other, pick, search }) {
  const listed = card.candidates.slice(0, NUMBERED).map(({ target, confidence }, place) => {
    const notes = [!card.hidden && target.name === card.proposed && "proposed", confidence != null && (confidence < 0.001 ? "< 0.001" : sure(confidence))];
    return html`<li key=${target.name}>
      <button type="button" class="candidate" aria-pressed=${String(shown === target.name)} onClick=${() => pick(target.name)}>
        <${Key} name=${place + 1} /> <${Label} text=${titleOf(target)} /> <small>${notes.filter(Boolean).join(" · ")}</small>
      </button>
    </li>`;
  });
  const found =
    other &&
    html`<li>
      <button type="button" class="candidate" aria-pressed=${String(shown === other.name)} onClick=${() => pick(other.name)}>
        <${Label} text=${titleOf(other)} /> <small>found by search</small>
      </button>
    </li>`;
  return html`<div class="choosing" role="group" aria-label="Candidates">
    <ol class="candidates">
      ${listed}${found}
      <li><button type="button" class="candidate search" onClick=${search}><${Key} name="/" /> another target …</button></li>
    </ol>
  </div>`;
}

/** A search among all targets, or all sources. */
export class Search extends Component {
  state = { text: "", found: [], at: 0, told: "" };
  box = createRef();

  componentDidMount() {
    this.box.current.focus();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.gone = true;
  }

  typed(text) {
    this.setState({ text });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.find(text), PAUSE);
  }

  async find(text) {
    if (!text.trim()) return this.setState({ found: [], told: "" });
    try {
      const answer = await ask(`/search?${new URLSearchParams({ q: text, side: this.props.side })}`);
      const found = answer.found ?? answer;
      if (!this.gone && this.state.text === text) this.setState({ found, at: 0, told: found.length ? "" : `No ${this.props.side} is called so.` });
    } catch (error) {
      if (!this.gone) this.setState({ found: [], told: `The search failed: ${error.message}.` });
    }
    return undefined;
  }

  pressed(event) {
    const { found, at } = this.state;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      this.setState({ at: (at + step + found.length) % found.length });
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (found[at]) this.props.pick(found[at]);
    } else if (event.key === "Escape" && this.props.close) {
      event.preventDefault();
      this.props.close();
    }
  }

  render({ side, pick, close }, { text, found, at, told }) {
    return html`<div class="searching" role="search">
      <label for="searched">Search the ${side}s</label>
      <div class="line">
        <input id="searched" ref=${this.box} type="search" role="combobox" data-first autocomplete="off" spellcheck="false" dir="auto"
          aria-expanded=${String(found.length > 0)} aria-controls="found" aria-autocomplete="list"
          aria-activedescendant=${found.length ? `found-${at}` : null} value=${text}
          onInput=${(event) => this.typed(event.target.value)} onKeyDown=${(event) => this.pressed(event)} />
        ${close && html`<button type="button" class="plain" onClick=${close}>Close <${Key} name="Esc" /></button>`}
      </div>
      <ul id="found" role="listbox" aria-label=${`${side}s found`} hidden=${!found.length}>
        ${found.map(
          (target, place) => html`<li key=${target.name} id=${`found-${place}`} role="option" aria-selected=${String(place === at)} onClick=${() => pick(target)}>
            <${Label} text=${titleOf(target)} /> <small><${Label} text=${target.name} /></small>
          </li>`,
        )}
      </ul>
      <p class="told" role="status">${told}</p>
    </div>`;
  }
}
