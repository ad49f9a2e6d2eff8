// The card of a link: what speaks for it and against it, its neighbours and values, the runner-up.
// Takes an explanation as JSON and returns an element; needs nothing but the browser. Labels become text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const MARKS = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]; // confidences on the axis

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value != null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null));
  return made;
}

/** A name in whatever script, which does not disturb the direction of what stands around it. */
export function label(text, attributes = {}) {
  return element("bdi", { dir: "auto", ...attributes }, text);
}

/** The name of an entity; one on the web can be followed, unless it was cut. */
export function named(name, text = name) {
  const inside = label(text);
  if (!/^https?:\/\//i.test(name) || name.endsWith("…")) return inside;
  return element("a", { href: name, rel: "noreferrer noopener" }, inside);
}

/** What an entity is called: its label, or else the last part of its name. */
export function called(name, text) {
  return text || name.replace(/[/#]+$/, "").split(/[/#]/).pop() || name;
}

/** A confidence with three digits, rounded down: nothing is certain. */
export function sure(confidence) {
  return (Math.floor(confidence * 1000 + 1e-9) / 1000).toFixed(3);
}

/** What a group of evidence is called. */
export function groupTitle(group) {
  return group.title ?? group.name;
}

/** A confidence within a sentence. */
function sureOf(confidence) {
  return confidence < 0.001 ? "less than 0.001" : sure(confidence);
}

function signed(value) {
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
}

/** The card of a link. */
export function card(explanation) {
  const { groups = [], runner_up: rival, smallest_set: smallest, illustration = [], not_compared: left = [] } = explanation;
  const parts = groups.flatMap((group) => group.parts ?? []);
  return element(
    "article",
    { class: "card" },
    heading(explanation),
    waterfall(explanation),
    neighbours(parts.filter((part) => part.source_neighbour || part.target_neighbour)),
    values(parts.filter((part) => part.source_value != null || part.target_value != null)),
    left.map((line) => element("p", {}, label(line))),
    illustration.length ? illustrated(illustration) : null,
    smallest ? withoutThese(smallest) : null,
    rival ? whyNot(explanation, rival) : null,
  );
}

function heading({ source, target, source_label, target_label, confidence, status, saturated, notes = [] }) {
  const ends = [
    element("dt", {}, "source"),
    element("dd", {}, label(called(source, source_label)), " ", element("small", {}, named(source))),
  ];
  if (target) {
    ends.push(
      element("dt", {}, "target"),
      element("dd", {}, label(called(target, target_label)), " ", element("small", {}, named(target))),
    );
  }
  const told = [`confidence ${sure(confidence)}`, status];
  if (saturated) told.push("as sure as the method can be");
  const lines = [told.filter(Boolean).join(" · "), ...notes];
  return element("header", {}, element("dl", {}, ends), lines.map((line) => element("p", {}, label(line))));
}

/** Each group of evidence as a bar that begins where the one before it ends; the last end is the confidence. */
export function waterfall({ base = 0, groups = [], log_odds, confidence }) {
  const steps = [{ name: "before any evidence", log_odds: base, text: "", parts: [] }, ...groups];
  const ends = [0];
  for (const step of steps) ends.push(ends.at(-1) + step.log_odds);
  const low = Math.min(...ends) - 0.5;
  const high = Math.max(...ends) + 0.5;
  const place = (value) => (100 * (value - low)) / (high - low);
  const rows = steps.map((step, number) => {
    const bar = between(place(ends[number]), place(ends[number + 1]), step.log_odds, place(0));
    const title = number ? groupTitle(step) : "Before any evidence";
    return element(
      "li",
      {},
      element("span", { class: "name" }, label(title)),
      bar,
      element("span", { class: "number" }, signed(step.log_odds)),
      step.text || step.parts?.length ? reasons(step) : null,
    );
  });
  const total = element(
    "li",
    { class: "total" },
    element("span", { class: "name" }, "Together"),
    axis(place, low, high, ends.at(-1)),
    element("span", { class: "number" }, signed(log_odds ?? ends.at(-1))),
  );
  const title = `What speaks for it and against it, in log-odds; together a confidence of ${sure(confidence)}`;
  return element("section", {}, element("h3", {}, title), element("ol", { class: "waterfall" }, rows, total));
}

function between(from, to, value, zero) {
  const left = Math.min(from, to);
  const kind = value < 0 ? "against" : "for";
  return drawing(
    "svg",
    { "aria-hidden": "true", height: 18 },
    drawing("line", { x1: `${zero}%`, x2: `${zero}%`, y1: 0, y2: "100%", class: "zero" }),
    Math.abs(value) < 0.005
      ? null
      : drawing("rect", { x: `${left}%`, width: `${Math.max(Math.abs(to - from), 0.4)}%`, y: 3, height: 12, class: kind }),
  );
}

/** The confidences that the log-odds stand for. */
function axis(place, low, high, end) {
  const marks = MARKS.map((share) => [share, Math.log(share / (1 - share))]);
  const shown = [];
  for (const [share, odds] of marks) {
    const at = place(odds);
    if (odds > low && odds < high && at > 4 && at < 94 && (!shown.length || at - shown.at(-1).at > 14)) shown.push({ share, at });
  }
  return drawing(
    "svg",
    { "aria-hidden": "true", height: 32, class: "axis" },
    drawing("line", { x1: 0, x2: "100%", y1: 9, y2: 9, class: "zero" }),
    shown.map(({ share, at }) => [
      drawing("line", { x1: `${at}%`, x2: `${at}%`, y1: 6, y2: 12, class: "zero" }),
      drawing("text", { x: `${at}%`, y: 27, "text-anchor": "middle" }, String(share)),
    ]),
    drawing("circle", { cx: `${place(end)}%`, cy: 9, r: 5, class: "end" }),
  );
}

function reasons({ text, parts = [] }) {
  if (parts.length < 2) return element("p", { class: "reason" }, label(parts[0]?.text ?? text ?? ""));
  const items = parts.map((part) =>
    element("li", {}, label(part.text ?? ""), " ", element("span", { class: "number" }, signed(part.log_odds))),
  );
  const title = element("summary", {}, label(text || `${parts.length} parts`));
  return element("details", { class: "reason" }, title, element("ul", {}, items));
}

function relation(name, inverse) {
  if (!name) return null;
  return element("small", {}, inverse ? "inverse of " : "", words(name));
}

/** The name of a relation, which may be broken between its words: spokenLanguage, official_name. */
function words(name) {
  const pieces = (name.includes("://") ? called(name) : name).split(/(?<=\p{Ll})(?=\p{Lu})|(?<=[_-])/u);
  return element("bdi", { dir: "auto", class: "words" }, pieces.flatMap((piece, number) => (number ? [element("wbr"), piece] : [piece])));
}

/** The neighbours of both entities side by side; those taken for the same are joined by a line. */
function neighbours(parts) {
  if (!parts.length) return null;
  const most = Math.max(...parts.map((part) => Math.abs(part.log_odds)), 1e-9);
  const rows = parts.map((part) => {
    const joined = part.source_neighbour && part.target_neighbour;
    return element(
      "tr",
      {},
      end(part.source_neighbour, part.source_relation, part.inverse),
      element("td", { class: "joint" }, joined ? joint(part, most) : element("small", {}, "no match")),
      end(part.target_neighbour, part.target_relation, part.target_inverse),
      element("td", { class: "number" }, signed(part.log_odds)),
    );
  });
  return panel("Neighbours", ["of the source", "the same?", "of the target", "log-odds"], rows);
}

function joint(part, most) {
  const kind = part.log_odds < 0 ? "against" : "for";
  const width = 1 + (5 * Math.abs(part.log_odds)) / most;
  const line = drawing("line", { x1: 0, x2: "100%", y1: 7, y2: 7, class: kind, "stroke-width": width.toFixed(1) });
  const picture = drawing("svg", { "aria-hidden": "true", height: 14 }, line);
  return [picture, element("small", {}, part.belief == null ? "yes" : `${part.belief.toFixed(2)} sure`)];
}

function end(neighbour, name, inverse) {
  if (!neighbour) return element("td", {}, "–");
  return element("td", {}, named(neighbour.name, called(neighbour.name, neighbour.label)), relation(name, inverse));
}

/** The values that were compared, side by side. */
function values(parts) {
  if (!parts.length) return null;
  const rows = parts.map((part) =>
    element(
      "tr",
      {},
      value(part.source_value, part.source_attribute),
      element("td", { class: "joint" }, element("small", {}, alike(part))),
      value(part.target_value, part.target_attribute),
      element("td", { class: "number" }, signed(part.log_odds)),
    ),
  );
  return panel("Names and values", ["of the source", "alike?", "of the target", "log-odds"], rows);
}

function alike({ similarity, compared, source_value: mine, target_value: its }) {
  if (similarity == null) return "compared";
  if (compared && mine !== its) return compared;
  if (similarity >= 1) return mine === its ? "equal" : "same value";
  return `${Math.min(99, Math.round(100 * similarity))} % alike`;
}

function value(text, attribute) {
  if (text == null) return element("td", {}, "–");
  return element("td", {}, label(text), attribute ? element("small", {}, words(attribute)) : null);
}

function panel(title, columns, rows) {
  const head = columns.map((text, number) => element("th", { scope: "col", class: number === 3 ? "number" : null }, text));
  const table = element(
    "table",
    { class: "sides" },
    element("caption", { class: "unseen" }, title),
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows),
  );
  return element("section", {}, element("h3", {}, title), table);
}

function illustrated(texts) {
  const items = texts.map((text) => element("li", {}, label(text)));
  return element(
    "section",
    {},
    element("h3", {}, "Labelled pairs near both (an illustration, not a proof)"),
    element("ul", {}, items),
  );
}

export function withoutThese({ kind, parts = [], threshold, confidence }) {
  const told = `Without ${parts.length === 1 ? "this" : `these ${parts.length}`}, the confidence would be ${sureOf(confidence)}, below the threshold of ${threshold} (${kind}):`;
  const items = parts.map((text) => element("li", {}, label(text)));
  return element("section", {}, element("h3", {}, "What the link depends on"), element("p", {}, told), element("ul", {}, items));
}

/** Both candidates, group by group. */
export function whyNot(explanation, rival) {
  const titles = new Map([...explanation.groups, ...(rival.groups ?? [])].map((group) => [group.name, groupTitle(group)]));
  const of = (side, name) => (side.groups ?? []).filter((group) => group.name === name).reduce((sum, group) => sum + group.log_odds, 0);
  const lines = [["Before any evidence", explanation.base ?? 0, rival.base ?? 0]];
  for (const [name, title] of titles) lines.push([title, of(explanation, name), of(rival, name)]);
  lines.push(["Together", explanation.log_odds, rival.log_odds]);
  const most = Math.max(...lines.flatMap(([, mine, its]) => [Math.abs(mine), Math.abs(its)]), 1e-9);
  const rows = lines.map(([title, mine, its], number) =>
    element(
      "tr",
      { class: number === lines.length - 1 ? "total" : null },
      element("th", { scope: "row" }, label(title)),
      element("td", { class: "both" }, both(mine, its, most)),
      [mine, its, mine - its].map((odds) => element("td", { class: "number" }, signed(odds))),
    ),
  );
  const head = ["", "link above, runner-up below", "this link", "runner-up", "difference"].map((text, number) =>
    number ? element("th", { scope: "col", class: number > 1 ? "number" : "both" }, text) : element("td", {}),
  );
  const table = element(
    "table",
    {},
    element("caption", { class: "unseen" }, "This link and the runner-up, in log-odds"),
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows),
  );
  return element(
    "section",
    {},
    element("h3", {}, rival.confidence > explanation.confidence ? "Another candidate fits better" : "Why not the runner-up?"),
    element("p", {}, named(rival.target, called(rival.target, rival.target_label)), ` has a confidence of ${sureOf(rival.confidence)}.`),
    table,
  );
}

/** Two bars from the middle: to the right for, to the left against. */
function both(mine, its, most) {
  const bar = (value, y) => {
    const width = (50 * Math.abs(value)) / most;
    return drawing("rect", { x: `${value < 0 ? 50 - width : 50}%`, width: `${width}%`, y, height: 6, class: value < 0 ? "against" : "for" });
  };
  const middle = drawing("line", { x1: "50%", x2: "50%", y1: 0, y2: "100%", class: "zero" });
  return drawing("svg", { "aria-hidden": "true", height: 20 }, middle, bar(mine, 2), bar(its, 12));
}
