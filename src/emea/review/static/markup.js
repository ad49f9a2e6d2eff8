// What all parts of the page are written with: Preact and htm, names of entities, keys, elements that others have made.
import { Component, Fragment, createRef, h, render } from "./vendor/preact-11.2.0/preact.mjs";
import htm from "./vendor/htm-3.1.1/htm.module.js";
import { called } from "./card.js";

export { Component, Fragment, createRef, render };
export const html = htm.bind(h);

const WEB = /^https?:\/\//i;

/** A text in whatever script, which does not disturb the direction of what stands around it. */
export function Label({ text, class: kind }) {
  return html`<bdi dir="auto" class=${kind}>${text}</bdi>`;
}

/** What an entity is called. */
export function titleOf(entity) {
  return called(entity.name, entity.label);
}

/** The address of an entity's own page, if it is one on the web. */
export function pageOf(entity) {
  const address = entity?.link ?? entity?.name ?? "";
  return WEB.test(address) ? address : null;
}

/** A key as it is printed on the keyboard. */
export function Key({ name }) {
  return html`<kbd aria-hidden="true">${name}</kbd>`;
}

/** A number with separators. */
export function many(count) {
  return (count ?? 0).toLocaleString("en");
}

/** One thing or several. */
export function counted(count, one, several = `${one}s`) {
  return `${many(count)} ${count === 1 ? one : several}`;
}

/** A share in per cent, with one digit. */
export function percent(share) {
  return share == null ? "–" : `${(100 * share).toFixed(1)} %`;
}

/** Elements that were made without Preact, such as the bars of an explanation. */
export class Made extends Component {
  box = createRef();

  componentDidMount() {
    this.box.current.replaceChildren(...this.props.make());
  }

  componentDidUpdate(before) {
    if (before.of !== this.props.of) this.box.current.replaceChildren(...this.props.make());
  }

  render({ class: kind }) {
    return html`<div class=${kind} ref=${this.box}></div>`;
  }
}

/** A dialog that is open as long as it is there; Escape closes it. */
export class Dialog extends Component {
  box = createRef();

  componentDidMount() {
    this.before = document.activeElement;
    this.box.current.showModal();
    this.box.current.querySelector("[data-first]")?.focus();
  }

  componentWillUnmount() {
    this.box.current?.close();
    if (this.before?.isConnected) this.before.focus();
  }

  render({ title, kind, close, children }) {
    const cancel = (event) => {
      event.preventDefault();
      close();
    };
    return html`<dialog ref=${this.box} class=${kind} aria-labelledby="dialog-title" onCancel=${cancel}>
      <header>
        <h2 id="dialog-title">${title}</h2>
        <button type="button" class="plain" onClick=${close}>Close <${Key} name="Esc" /></button>
      </header>
      ${children}
    </dialog>`;
  }
}
