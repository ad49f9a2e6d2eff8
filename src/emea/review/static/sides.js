// Both entities side by side: what they are called, their types, values and neighbours; what is equal, and what differs.
import { called, sure } from "./card.js";
import { differences, neighbourRows, typeRows, valueRows } from "./comparing.js";
import { Fragment, Label, counted, html, pageOf, titleOf } from "./markup.js";

const SHOWN = 6; // rows of a section, unless all are asked for
const SIGNS = {
  equal: ["=", "equal"],
  nearly: ["≈", "equal but for how it is written"],
  partly: ["≈", "partly equal"],
  differs: ["≠", "different"],
  source: ["", "only the source has this"],
  target: ["", "only the target has this"],
  elsewhere: ["≠", "its counterpart is no neighbour of the other"],
  unknown: ["", "no counterpart is known"],
  "": ["", ""],
};

/** The headings of both entities, with the confidence between them. */
export function Heads({ source, target, confidence, hidden }) {
  const told = hidden ? "score hidden" : confidence == null ? "" : sure(confidence);
  return html`<div class="heads">
    <${Head} side="Source" entity=${source} hint="O" />
    <p class="between">
      <span class="arrow" aria-hidden="true">↔</span>
      ${told && html`<span class="confidence">${hidden ? html`<small>${told}</small>` : html`<small>confidence</small> ${told}`}</span>`}
    </p>
    ${target ? html`<${Head} side="Target" entity=${target} hint="P" />` : html`<div class="head empty"><h3>Target</h3><p>None is proposed.</p></div>`}
  </div>`;
}

function Head({ side, entity, hint }) {
  const page = pageOf(entity);
  const name = html`<${Label} text=${entity.name} />`;
  return html`<div class="head">
    <h3>${side}</h3>
    <p class="title"><${Label} text=${titleOf(entity)} /></p>
    <p class="name">
      ${page ? html`<a href=${page} rel="noreferrer noopener" target="_blank" title=${`Open its own page (${hint})`}>${name}<span class="unseen"> (own page, opens in a new tab)</span></a>` : name}
    </p>
  </div>`;
}

/** Types, values and neighbours as one table. */
export function Sides({ source, target, explanation, all, more }) {
  const values = [...typeRows(source, target), ...valueRows(source, target, explanation)];
  const neighbours = neighbourRows(source, target);
  const joined = neighbours.filter((row) => row.sign === "joined").length;
  const told = target && neighbours.length ? `${joined ? counted(joined, "pair is", "pairs are") : "none is"} taken for the same` : "";
  return html`<table class="compared">
    <caption class="unseen">Both entities side by side</caption>
    <colgroup><col /><col class="middle" /><col /></colgroup>
    <thead class="unseen">
      <tr><th scope="col">of the source</th><th scope="col">the same?</th><th scope="col">of the target</th></tr>
    </thead>
    <${Section} title="Names and values" rows=${values} all=${all} more=${more} draw=${valueRow} />
    <${Section} title="Neighbours" told=${told} rows=${neighbours} all=${all} more=${more} draw=${neighbourRow} />
  </table>`;
}

function Section({ title, told, rows, all, more, draw }) {
  if (!rows.length) return null;
  const shown = all ? rows : rows.slice(0, SHOWN);
  const rest = rows.length - shown.length;
  return html`<tbody>
    <tr class="section">
      <th colspan="3" scope="rowgroup">${title}${told && html` <small>${told}</small>`}</th>
    </tr>
    ${shown.map(draw)}
    ${rest > 0 && html`<tr class="rest"><td colspan="3"><button type="button" class="plain" onClick=${more}>${counted(rest, "more row")} <kbd aria-hidden="true">M</kbd></button></td></tr>`}
  </tbody>`;
}

function Sign({ sign, alike, compared }) {
  const [mark, told] = SIGNS[sign];
  const percent = alike != null && alike < 1 && sign === "differs" ? `${Math.min(99, Math.round(100 * alike))} % alike` : told;
  const shown = sign === "equal" ? told : (compared ?? percent);
  return html`<td class=${`sign ${sign}`} title=${shown}>
    <span aria-hidden="true">${mark}</span>${shown === told ? html`<span class="unseen">${told}</span>` : html` <small>${shown}</small>`}
  </td>`;
}

const nothing = () => html`<td class="nothing"><span aria-hidden="true">–</span></td>`;

function valueRow({ source, target, sign, alike, compared }) {
  let [mine, its] = [source && [{ text: source.value, common: true }], target && [{ text: target.value, common: true }]];
  if (sign === "differs" || sign === "partly") [mine, its] = differences(source.value, target.value);
  const cell = (value, pieces) =>
    value ? html`<td><small class="attribute"><${Label} text=${spaced(value.attribute)} /></small> <${Pieces} all=${pieces} />${value.others?.map((each) => html` <span aria-hidden="true">·</span> <${Label} text=${each} />`)}</td>` : nothing();
  return html`<tr class=${sign}>${cell(source, mine)}<${Sign} sign=${sign} alike=${alike} compared=${compared} />${cell(target, its)}</tr>`;
}

/** A text, in which what the other one does not have is marked. */
function Pieces({ all }) {
  return html`<bdi dir="auto" class="value">${all.map(({ text, common }) => (common ? text : html`<mark>${text}</mark>`))}</bdi>`;
}

function neighbourRow({ source, target, sign }) {
  const cell = (neighbour) =>
    neighbour ? html`<td><small class="attribute">${neighbour.relations.map((each, place) => [place ? ", " : "", relation(each)])}</small> <${Label} class="value" text=${titleOf(neighbour)} /></td>` : nothing();
  const middle =
    sign === "joined"
      ? html`<td class="sign joined" title="taken for the same"><svg aria-hidden="true" height="12"><line x1="0" x2="100%" y1="6" y2="6" /><circle cx="4" cy="6" r="4" /><circle class="far" cx="100%" cy="6" r="4" /></svg><span class="unseen">taken for the same</span></td>`
      : html`<${Sign} sign=${sign} />`;
  return html`<tr class=${sign}>${cell(source)}${middle}${cell(target)}</tr>`;
}

function relation({ relation: name, inverse }) {
  const text = html`<${Label} text=${spaced(name)} />`;
  return inverse ? html`<${Fragment}>inverse of ${text}<//>` : text;
}

/** The name of a relation or attribute in words: spokenLanguage, official_name. */
function spaced(name) {
  return called(name ?? "").replace(/(?<=\p{Ll})(?=\p{Lu})|_/gu, " ");
}
