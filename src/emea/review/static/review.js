// The review page: one card at a time, decided by keys, nothing lost.
import { Bulk } from "./bulk.js";
import { Answers, CardView, shownTarget } from "./cardview.js";
import { Again, Find, Help, Queues } from "./dialogs.js";
import { actionOf } from "./keys.js";
import { Component, Key, Label, counted, html, many, pageOf, render } from "./markup.js";
import { Afterwards, People, Progress, Quality, Recent } from "./panels.js";
import { Refused, ask } from "./server.js";
import { Session } from "./session.js";

const ANSWERS = { right: "yes", wrong: "no", none: "none", unsure: "unsure" };
const DIALOGS = ["queues", "find", "bulk", "again", "help"];
const KEYS_OFF = "emea-review-keys-off";
const THEME = "emea-review-theme";

const root = document.getElementById("review");
const said = document.getElementById("said");

class Review extends Component {
  constructor(props) {
    super(props);
    this.state = { open: null, searching: false, all: false, keys: !localStorage.getItem(KEYS_OFF) };
    this.session = new Session(props.state, {
      changed: () => this.setState({}),
      came: () => {
        this.setState({ searching: false, all: false });
        window.scrollTo(0, 0);
      },
      say: (text) => (said.textContent = text),
    });
  }

  componentDidMount() {
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.session.start();
    document.documentElement.dataset.ready = Math.round(performance.now()); // ms, for whoever waits for it
  }

  pressed(event) {
    if (event.key === "Escape" && !event.defaultPrevented && !this.state.open) this.session.leave();
    const asked = this.state.keys || event.key === "?" ? actionOf(event) : null;
    if (!asked) return;
    event.preventDefault();
    this.act(...asked);
  }

  act(action, number) {
    const { session } = this;
    const { view } = session;
    if (action in ANSWERS) session.decide(ANSWERS[action]);
    else if (action === "undo") session.undo();
    else if (DIALOGS.includes(action)) this.setState({ open: action });
    else if (action === "theme") changeTheme();
    else if (action === "good") focusOn("quality");
    else if (!view) return;
    else if (action === "candidate") this.pick(view.card.candidates[number - 1]?.target.name);
    else if (action === "search") this.setState({ searching: true });
    else if (action === "comment") focusOn("comment");
    else if (action === "more") this.setState({ all: !this.state.all });
    else this.visit(action === "source" ? view.card.source : shownTarget(view));
  }

  pick(name, other) {
    if (!name) return;
    this.setState({ searching: false });
    this.session.pick(name, other);
  }

  visit(entity) {
    const page = pageOf(entity);
    if (page) window.open(page, "_blank", "noreferrer,noopener");
    else this.session.tell("It has no page on the web.");
  }

  setKeys(keys) {
    if (keys) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "yes");
    this.setState({ keys });
  }

  render(_, { open }) {
    const { session } = this;
    const { state } = session;
    return html`
      <${Top} session=${session} act=${(action) => this.act(action)} />
      <div class="columns">
        <main>
          <${Troubles} session=${session} />
          ${state.notes?.map((note) => html`<p class="note" key=${note}><${Label} text=${note} /></p>`)}
          ${session.view ? this.card() : html`<${Empty} session=${session} act=${(action) => this.act(action)} />`}
        </main>
        <aside aria-label="About this review">
          <${Quality} estimate=${session.estimate} trouble=${session.unmeasured} />
          <${Recent} recent=${session.recent} reopen=${(source) => session.reopen(source)} find=${() => this.act("find")} />
          <${People} people=${state.people} who=${state.who} />
          <${Afterwards} state=${state} open=${(name) => this.setState({ open: name })} />
        </aside>
      </div>
      ${open && this.dialog(open)}
    `;
  }

  card() {
    const { session } = this;
    const { searching, all } = this.state;
    const back = (event) => {
      event.preventDefault();
      focusOn("question");
    };
    return html`
      <${CardView} view=${session.view} all=${all} searching=${searching} pick=${(name) => this.pick(name)}
        pickOther=${(other) => {
          this.pick(other.name, other);
          focusOn("question");
        }}
        search=${() => this.act("search")} stopSearch=${() => {
          this.setState({ searching: false });
          focusOn("question");
        }}
        more=${() => this.act("more")} back=${() => session.leave()} />
      <${Answers} view=${session.view} message=${session.message} act=${(action) => this.act(action)} write=${(text) => session.write(text)} back=${back} />
    `;
  }

  dialog(open) {
    const { session } = this;
    const close = () => this.setState({ open: null });
    const { state } = session;
    if (open === "help") return html`<${Help} keys=${this.state.keys} setKeys=${(keys) => this.setKeys(keys)} close=${close} />`;
    if (open === "again") return html`<${Again} state=${state} close=${close} />`;
    if (open === "find") {
      const pick = ({ name }) => {
        close();
        session.reopen(name);
      };
      return html`<${Find} pick=${pick} close=${close} />`;
    }
    if (open === "bulk") {
      const accept = async (body, count) => {
        await session.accept(body, count);
        close();
      };
      return html`<${Bulk} state=${state} accept=${accept} close=${close} />`;
    }
    const choose = (queue, value) => {
      close();
      session.choose(queue, value);
    };
    return html`<${Queues} state=${state} chosen=${session} choose=${choose} close=${close} />`;
  }
}

/** What is reviewed, how far one is, and from which queue the cards come. */
function Top({ session, act }) {
  const { state, queue, value } = session;
  const chosen = state.queues.find((each) => each.name === queue);
  const [source, target] = state.graphs;
  return html`<header class="top">
    <h1><${Label} text=${source} /> <span aria-hidden="true">↔</span> <${Label} text=${target} /></h1>
    <${Progress} state=${state} />
    <div class="tools">
      <button type="button" onClick=${() => act("queues")} aria-haspopup="dialog">
        <${Key} name="Q" /> <span class="unseen">Queue: </span>${chosen?.title ?? queue}${value && html`: <${Label} text=${value} />`}
        ${chosen?.count != null && html` <span class="count">${many(chosen.count)}</span>`}
      </button>
      <button type="button" onClick=${() => act("bulk")} aria-haspopup="dialog"><${Key} name="B" /> Accept many …</button>
      <button type="button" class="plain" onClick=${() => act("theme")}><${Key} name="T" /> <span class="word">Light or dark</span></button>
      <button type="button" class="plain" onClick=${() => act("help")} aria-haspopup="dialog"><${Key} name="?" /> Keys</button>
    </div>
  </header>`;
}

/** What stands between the page and its server. */
function Troubles({ session }) {
  const { outbox, away, dealer, refusal } = session;
  const waiting = outbox.waiting().length;
  const trouble = outbox.trouble ?? dealer.trouble ?? away;
  if (!trouble) return refusal && html`<p class="warning" role="alert"><${Label} text=${refusal} /></p>`;
  const locked = trouble instanceof Refused && [401, 403].includes(trouble.status);
  return html`<p class="warning" role="alert">
    ${locked ? "The server does not know this browser any more: open the address that it printed." : "The server cannot be reached; it is tried again."}
    ${waiting > 0 && ` ${counted(waiting, "decision is", "decisions are")} kept in this browser and will be sent, even if you close the page.`}
  </p>`;
}

/** No card: the next one is on its way, or there is none. */
function Empty({ session, act }) {
  const { dealer } = session;
  if (dealer.done) {
    return html`<div class="empty" role="status">
      <h2>${dealer.done}</h2>
      <p>
        <button type="button" class="main" onClick=${() => act("queues")}><${Key} name="Q" /> Choose another queue</button>
        <button type="button" onClick=${() => dealer.fill()}>Look again</button>
        <button type="button" onClick=${() => act("undo")}><${Key} name="Z" /> Undo</button>
      </p>
    </div>`;
  }
  return html`<div class="empty"><p class="quiet">The next card is on its way …</p></div>`;
}

function focusOn(id) {
  document.getElementById(id)?.focus();
}

function changeTheme() {
  const page = document.documentElement;
  const now = page.dataset.theme ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  page.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem(THEME, page.dataset.theme);
}

async function begin() {
  const theme = localStorage.getItem(THEME);
  if (theme) document.documentElement.dataset.theme = theme;
  try {
    const state = await ask("/state");
    document.title = `${state.graphs.join(" ↔ ")}: review`;
    root.replaceChildren();
    render(html`<${Review} state=${state} />`, root);
  } catch (error) {
    root.textContent = `The review could not be opened: ${error.message}`;
  }
}

begin();
