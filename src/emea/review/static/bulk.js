// Accept many links at once, after a look at what that means.
import { sure } from "./card.js";
import { Component, Dialog, Label, counted, html, many, percent, titleOf } from "./markup.js";
import { ask } from "./server.js";

const MINIMUM = "0.97"; // at first

/** The dialog: a filter, then a preview of exactly what would be accepted. */
export class Bulk extends Component {
  state = { minimum: MINIMUM, maximum: "", type: "", text: "", preview: null, busy: false, trouble: null };

  filter() {
    const { minimum, maximum, type, text } = this.state;
    return {
      minimum: Number(minimum || 0),
      ...(maximum !== "" && { maximum: Number(maximum) }),
      ...(type && { type }),
      ...(text.trim() && { text: text.trim() }),
    };
  }

  async preview(event) {
    event.preventDefault();
    await this.asking(async () => {
      const filter = this.filter();
      this.setState({ preview: { ...(await ask("/bulk/preview", { filter })), filter } });
    });
  }

  async accept() {
    const { filter, fingerprint, count } = this.state.preview;
    await this.asking(() => this.props.accept({ filter, fingerprint }, count));
  }

  async asking(act) {
    this.setState({ busy: true, trouble: null });
    try {
      await act();
    } catch (error) {
      this.setState({ trouble: error.message, preview: null });
    }
    this.setState({ busy: false });
  }

  field(name, title, attributes) {
    const set = (event) => this.setState({ [name]: event.target.value, preview: null }); // what was previewed is what is accepted
    return html`<p class="field"><label for=${`bulk-${name}`}>${title}</label><input id=${`bulk-${name}`} value=${this.state[name]} onInput=${set} ...${attributes} /></p>`;
  }

  render({ state, close }, { type, preview, busy, trouble }) {
    const number = { type: "number", min: 0, max: 1, step: "any", inputmode: "decimal" };
    return html`<${Dialog} title="Accept many links at once" kind="bulk" close=${close}>
      <form class="filters" onSubmit=${(event) => this.preview(event)}>
        ${this.field("minimum", "Confidence from", { ...number, required: true, "data-first": true })}
        ${this.field("maximum", "to", number)}
        ${state.types?.length > 0 && html`<p class="field"><label for="bulk-type">Type</label>
          <select id="bulk-type" value=${type} onChange=${(event) => this.setState({ type: event.target.value, preview: null })}>
            <option value="">all</option>
            ${state.types.map((each) => html`<option key=${each.name ?? each} value=${each.name ?? each}>${each.name ?? each}</option>`)}
          </select></p>`}
        ${this.field("text", "Words in a name", { type: "search", dir: "auto", autocomplete: "off" })}
        <p class="buttons"><button type="submit" disabled=${busy}>Preview</button></p>
      </form>
      ${trouble && html`<p class="warning" role="alert">${trouble}</p>`}
      <div role="status">${preview && html`<${Preview} preview=${preview} />`}</div>
      ${preview?.count > 0 && html`<p class="buttons"><button type="button" class="main" disabled=${busy} onClick=${() => this.accept()}>Accept ${counted(preview.count, "link")}</button> <span class="quiet">One undo takes all of them back.</span></p>`}
    <//>`;
  }
}

function Preview({ preview }) {
  const { count, expected_errors: errors, samples } = preview;
  if (!count) return html`<p>No undecided link matches.</p>`;
  return html`<p class="expected"><strong>${counted(count, "link")}</strong>, of which about <strong>${about(errors)}</strong> ${errors > 1 ? "are" : "is"} expected to be wrong (${percent(errors / count)}).</p>
    <h3>${samples.length < count ? `${many(samples.length)} of them, drawn at random` : "These are they"}</h3>
    <ol class="samples" tabindex="0" aria-label="Samples">
      ${samples.map((each, place) => html`<li key=${place}><${Label} text=${titleOf(each.source)} /> <span aria-hidden="true">↔</span> <${Label} text=${titleOf(each.target)} /> <small class="number">${each.confidence == null ? "" : sure(each.confidence)}</small></li>`)}
    </ol>`;
}

function about(errors) {
  return errors < 10 ? errors.toFixed(1) : many(Math.round(errors));
}
