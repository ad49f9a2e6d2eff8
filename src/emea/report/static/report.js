// The table of links of a report: search, filters, order, and the card of each link. One page of rows is shown at a time.
import { card, called, drawing, element, groupTitle, label, named, sure } from "./card.js";

const PAGE = 100; // rows
const LEAST = 0.05; // log-odds from which a group of evidence is said to speak
const COLUMNS = [
  ["source", "Source"],
  ["target", "Target"],
  ["confidence", "Confidence"],
  ["type", "Type"],
  ["evidence", "Evidence"],
];
const VERDICTS = { r: "right", w: "wrong", "?": "not known" };

const root = document.getElementById("links-app");
const given = JSON.parse(document.getElementById("report-data").textContent);
const plain = (text) => (/^[ -~\n]*$/.test(text) ? text : text.normalize("NFKD").replace(/\p{M}/gu, "")).toLowerCase();

theme();
root.textContent = "Opening the table …";
unpacked(given.packed).then(start, () => {
  root.textContent = "This browser cannot open the table; the same links are in alignment.tsv.";
});

/** The links and explanations, which are kept as compressed JSON. */
async function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function theme() {
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const show = () => {
    const isDark = chosen === null ? dark.matches : chosen === "dark";
    if (chosen !== null) document.documentElement.dataset.theme = chosen;
    button.setAttribute("aria-pressed", String(isDark));
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    show();
  });
  dark.addEventListener("change", show);
  show();
}

function start(data) {
  const types = data.types.map((text) => text.split(/ ↔ |\|/).filter(Boolean));
  const rows = data.source.map((source, row) => {
    const link = {
      row,
      source,
      target: data.target[row],
      source_label: data.labels[2 * row],
      target_label: data.labels[2 * row + 1],
      confidence: data.confidence[row] / 10000,
      type: data.types[data.type[row]],
      types: types[data.type[row]],
      verdict: data.verdict ? data.verdict[row] : null,
      explanation: data.explanations[row] ?? null,
    };
    const groups = link.explanation?.groups ?? [];
    link.supporting = groups.filter((group) => group.log_odds >= LEAST).sort((one, other) => other.log_odds - one.log_odds);
    link.opposing = groups.filter((group) => group.log_odds <= -LEAST);
    link.evidence = link.supporting.slice(0, 2).map(groupTitle).join(" · ");
    return link;
  });
  const state = { query: "", type: "", least: 0, most: 1, evidence: "", verdict: "", order: "confidence", down: false, page: 0 };
  const view = { rows: [], status: null, table: null, pages: null };
  const update = () => {
    view.rows = ordered(rows.filter(matching(state)), state);
    state.page = 0;
    draw(view, state, data);
  };
  root.replaceChildren(...controls(rows, state, update, data), ...outline(view, state, data, update));
  update();
  document.documentElement.dataset.ready = Math.round(performance.now()); // ms, for whoever waits for it
}

function matching(state) {
  const words = plain(state.query).split(/\s+/).filter(Boolean);
  const [side, group] = state.evidence ? state.evidence.split("\t") : ["", ""];
  return (link) =>
    link.confidence >= state.least &&
    link.confidence <= state.most &&
    (!state.type || link.types.includes(state.type)) &&
    (!state.verdict || link.verdict === state.verdict) &&
    words.every((word) => textOf(link).includes(word)) &&
    (side === "" ||
      (side === "none" && !link.explanation) ||
      (side === "for" && link.supporting.some((each) => each.name === group)) ||
      (side === "against" && link.opposing.some((each) => each.name === group)));
}

/** What is searched; made at the first search, so that a page of many links opens quickly. */
function textOf(link) {
  link.text ??= plain(`${link.source_label}\n${link.target_label}\n${link.source}\n${link.target}`);
  return link.text;
}

function ordered(rows, { order, down }) {
  const sign = down ? -1 : 1;
  if (order === "confidence") return rows.sort((one, other) => sign * (one.confidence - other.confidence) || one.row - other.row);
  const collator = new Intl.Collator();
  const key = {
    source: (link) => called(link.source, link.source_label),
    target: (link) => called(link.target, link.target_label),
    type: (link) => link.type,
    evidence: (link) => link.evidence,
  }[order];
  const keyed = rows.map((link) => [key(link), link]);
  keyed.sort(([one, first], [other, second]) => sign * collator.compare(one, other) || first.row - second.row);
  return keyed.map(([, link]) => link);
}

function controls(rows, state, update, data) {
  const field = (title, control) => {
    control.id = `links-${control.name}`;
    return element("div", { class: "field" }, element("label", { for: control.id }, title), control);
  };
  const choice = (name, options) => {
    const made = element("select", { name }, options.map(([value, text]) => element("option", { value }, text)));
    made.addEventListener("change", () => {
      state[name] = made.value;
      update();
    });
    return made;
  };
  const number = (name, value) => {
    const made = element("input", { type: "number", name, min: 0, max: 1, step: 0.01, value, inputmode: "decimal" });
    made.addEventListener("input", () => {
      state[name] = made.value === "" || Number.isNaN(made.valueAsNumber) ? value : made.valueAsNumber;
      update();
    });
    return made;
  };
  const search = element("input", { type: "search", name: "query", autocomplete: "off", spellcheck: "false" });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      state.query = search.value;
      update();
    }, 120);
  });
  const titles = new Map(rows.flatMap((link) => (link.explanation?.groups ?? []).map((group) => [group.name, groupTitle(group)])));
  const groups = [...titles];
  const evidence = [
    ["", "any"],
    ...groups.map(([name, title]) => [`for\t${name}`, `${title}: for it`]),
    ...groups.map(([name, title]) => [`against\t${name}`, `${title}: against it`]),
    ["none\t", "not explained here"],
  ];
  const types = [...new Set(rows.flatMap((link) => link.types))].sort();
  const fields = [field("Search names", search)];
  if (types.length) fields.push(field("Type", choice("type", [["", "all"], ...types.map((type) => [type, type])])));
  fields.push(field("Confidence from", number("least", 0)), field("to", number("most", 1)));
  if (groups.length) fields.push(field("Evidence", choice("evidence", evidence)));
  if (data.verdict) fields.push(field("Known pairs say", choice("verdict", [["", "anything"], ...Object.entries(VERDICTS)])));
  const shown = shownColumns(data).flatMap(([name, title]) => [[name, `${title}, ascending`], [`-${name}`, `${title}, descending`]]);
  const sort = element("select", { name: "order" }, shown.map(([value, text]) => element("option", { value }, text)));
  sort.value = "confidence";
  sort.addEventListener("change", () => {
    state.down = sort.value.startsWith("-");
    state.order = sort.value.replace("-", "");
    update();
  });
  fields.push(field("Order", sort));
  const form = element("form", { class: "filters", role: "search", "aria-label": "Links" }, fields);
  form.addEventListener("submit", (event) => event.preventDefault());
  return [form];
}

/** Evidence is a column only where links are explained. */
function shownColumns(data) {
  const empty = { type: !data.types.some(Boolean), evidence: !Object.keys(data.explanations).length };
  return COLUMNS.filter(([name]) => !empty[name]);
}

function outline(view, state, data, update) {
  const heads = [...shownColumns(data), ...(data.verdict ? [["verdict", "Known pairs"]] : [])].map(([name, title]) => {
    if (name === "verdict") return element("th", { scope: "col", role: "columnheader", class: name }, title);
    const button = element("button", { type: "button", "data-order": name }, title);
    button.addEventListener("click", () => {
      state.down = state.order === name ? !state.down : false;
      state.order = name;
      document.querySelector("select[name=order]").value = (state.down ? "-" : "") + name;
      update();
    });
    return element("th", { scope: "col", role: "columnheader", class: name }, button);
  });
  view.status = element("p", { role: "status", class: "status", tabindex: -1 });
  view.body = element("tbody", { role: "rowgroup" });
  view.head = element("tr", { role: "row" }, heads);
  view.table = element(
    "table",
    { class: "links", role: "table" },
    element("caption", { class: "unseen" }, "Links; the button in each row opens its explanation"),
    element("thead", { role: "rowgroup" }, view.head),
    view.body,
  );
  view.body.addEventListener("keydown", moved);
  view.pages = element("nav", { class: "pages", "aria-label": "Pages of links" });
  return [view.status, view.table, view.pages];
}

function draw(view, state, data) {
  const begin = state.page * PAGE;
  const shown = view.rows.slice(begin, begin + PAGE);
  for (const cell of view.head.children) {
    const active = cell.firstChild.dataset?.order === state.order;
    if (active) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
  const count = view.rows.length.toLocaleString("en");
  view.status.textContent = shown.length
    ? `${(begin + 1).toLocaleString("en")}–${(begin + shown.length).toLocaleString("en")} of ${count} link${view.rows.length === 1 ? "" : "s"}`
    : "No link matches.";
  view.body.replaceChildren(...shown.map((link) => tableRow(link, data)));
  const last = Math.max(0, Math.ceil(view.rows.length / PAGE) - 1);
  const turn = (text, page) => {
    const button = element("button", { type: "button", disabled: page < 0 || page > last }, text);
    button.addEventListener("click", () => {
      state.page = page;
      draw(view, state, data);
      root.scrollIntoView();
      view.status.focus(); // the button is gone
    });
    return button;
  };
  const where = element("span", {}, `Page ${state.page + 1} of ${last + 1}`);
  view.pages.replaceChildren(turn("Previous", state.page - 1), where, turn("Next", state.page + 1));
}

function tableRow(link, data) {
  const titles = [called(link.source, link.source_label), called(link.target, link.target_label)];
  const button = element(
    "button",
    { type: "button", class: "open", "aria-expanded": "false", "aria-label": `Explain ${titles[0]} ↔ ${titles[1]}` },
    element("span", { "aria-hidden": "true" }, "▸"),
  );
  const columns = new Set(shownColumns(data).map(([name]) => name));
  const cell = (name, ...content) => element("td", { role: "cell", class: name }, content);
  const entity = (title, name) => [label(title, { class: "title" }), element("small", { class: "iri" }, named(name))];
  const evidence = link.explanation ? label(link.evidence || "none") : element("span", { class: "quiet" }, "not explained here");
  const made = element(
    "tr",
    { role: "row" },
    cell("source", element("div", { class: "entity" }, button, element("div", {}, entity(titles[0], link.source)))),
    cell("target", entity(titles[1], link.target)),
    cell("confidence", meter(link.confidence), element("span", { class: "number" }, sure(link.confidence))),
    columns.has("type") ? cell("type", link.type ? label(link.type) : element("span", { class: "quiet" }, "–")) : null,
    columns.has("evidence") ? cell("evidence", evidence) : null,
    data.verdict ? cell("verdict", VERDICTS[link.verdict]) : null,
  );
  button.addEventListener("click", () => toggle(button, made, link));
  return made;
}

function meter(confidence) {
  const bar = drawing("rect", { width: `${100 * confidence}%`, height: "100%", class: "bar" });
  return drawing("svg", { "aria-hidden": "true", class: "meter" }, bar);
}

function toggle(button, row, link) {
  if (button.getAttribute("aria-expanded") === "true") {
    row.nextSibling.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const inside = link.explanation ? card(link.explanation) : unexplained(link);
  const cell = element("td", { colspan: row.children.length, role: "cell" }, inside);
  row.after(element("tr", { class: "opened", role: "row" }, cell));
  button.setAttribute("aria-expanded", "true");
}

function unexplained(link) {
  const quoted = `'${link.source.replaceAll("'", "'\\''")}'`;
  const told = ["This page holds no explanation of this link. Ask for it with ", element("code", {}, `emea explain ${given.folder} ${quoted}`)];
  return element("article", { class: "card" }, element("p", {}, told));
}

/** Arrows go from row to row; Escape closes a card. */
function moved(event) {
  const buttons = [...event.currentTarget.querySelectorAll("button.open")];
  if (event.key === "Escape") {
    const opened = event.target.closest("tr.opened")?.previousSibling ?? event.target.closest("tr");
    const button = opened?.querySelector("button.open");
    if (button?.getAttribute("aria-expanded") === "true") {
      button.click();
      button.focus();
    }
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const place = buttons.indexOf(event.target);
  if (!step || place < 0) return;
  event.preventDefault();
  buttons[place + step]?.focus();
}
