// What stands beside the card: how good the links are, what was decided, who decides, the files, the next run.
import { Key, Label, counted, html, many, percent, titleOf } from "./markup.js";

export const VERDICTS = {
  yes: ["✓", "right"],
  no: ["✗", "wrong"],
  none: ["∅", "no counterpart"],
  unsure: ["?", "unsure"],
};

/** Precision and recall with their intervals, and whether to go on. */
export function Quality({ estimate, trouble }) {
  const known = estimate?.precision != null;
  return html`<section class="quality" aria-labelledby="quality">
    <h2 id="quality" tabindex="-1">How good is it? <${Key} name="G" /></h2>
    ${trouble && html`<p class="quiet">Not known at the moment: ${trouble}</p>`}
    ${estimate && !known && html`<p>Not known yet. At least every fifth card is drawn at random, with its score hidden; they will tell. In the queue Random, each counts.</p>`}
    ${known && html`<${Measure} title="Precision" about="of the links are right" value=${estimate.precision} low=${estimate.low} high=${estimate.high} />`}
    ${known && estimate.recall != null && html`<${Measure} title="Recall" about="of what a reviewer can find is linked" value=${estimate.recall} low=${estimate.recall_low} high=${estimate.recall_high} />`}
    ${estimate && html`<${Outlook} estimate=${estimate} />`}
    ${known && estimate.strata?.length > 0 && html`<${Strata} strata=${estimate.strata} />`}
  </section>`;
}

function Measure({ title, about, value, low, high }) {
  const at = (share) => `${100 * share}%`;
  return html`<div class="measure">
    <p><strong>${title} ${percent(value)}</strong> <span class="interval">${percent(low)} to ${percent(high)}</span></p>
    <svg aria-hidden="true" height="14">
      <line class="scale" x1="0" x2="100%" y1="7" y2="7" />
      <rect x=${at(low)} width=${at(Math.max(high - low, 0.005))} y="3" height="8" />
      <circle cx=${at(value)} cy="7" r="5" />
    </svg>
    <p class="quiet">${about}</p>
  </div>`;
}

/** How many more cards it takes, and whether one may stop. */
function Outlook({ estimate }) {
  const { answered = 0, look, next_look: next, stop } = estimate;
  const from = look ? `From ${counted(look, "sampled card")}, 95 % sure. ` : "";
  const since = next ? `${many(answered)} answered; ${look ? "new" : "first"} figures at ${many(next)}.` : "";
  return html`<p class="quiet">${from}${since}</p>
    ${stop && html`<div class=${stop.yes ? "stop yes" : "stop"}>
      <p><strong>Can you stop?</strong></p>
      <p>${stop.why}</p>
    </div>`}`;
}

/** The same by confidence. */
function Strata({ strata }) {
  const row = (each) => html`<tr key=${`${each.linked}${each.low}`}>
    <th scope="row">${each.linked ? "" : "unlinked, "}${each.low} to ${each.high}</th>
    <td class="number">${many(each.hits)} of ${many(each.asked)}</td>
    <td class="number">${percent(each.share_low)} to ${percent(each.share_high)}</td>
  </tr>`;
  return html`<details>
    <summary>By confidence</summary>
    <table><thead><tr><th scope="col">Confidence</th><th scope="col" class="number">right</th><th scope="col" class="number">interval</th></tr></thead><tbody>${strata.map(row)}</tbody></table>
  </details>`;
}

/** The last decisions made here; each can be opened again. */
export function Recent({ recent, reopen, find }) {
  return html`<section aria-labelledby="recent">
    <h2 id="recent">Just decided</h2>
    ${!recent.length && html`<p class="quiet">Nothing yet. What you decide can be opened here again.</p>`}
    <ol class="recent" reversed>
      ${recent.map(
        ({ card, verdict, target, key }) => html`<li key=${key}>
          <button type="button" class="plain" onClick=${() => reopen(card.source.name)}>
            <span class="mark" aria-hidden="true">${VERDICTS[verdict][0]}</span>
            <span><${Label} text=${titleOf(card.source)} />${target && html` <span aria-hidden="true">↔</span> <${Label} text=${titleOf(target)} />`}
            <span class="unseen">, ${VERDICTS[verdict][1]}; decide again</span></span>
          </button>
        </li>`,
      )}
    </ol>
    <p><button type="button" class="plain" onClick=${find}><${Key} name="F" /> Find a card …</button></p>
  </section>`;
}

/** Who has decided how much. */
export function People({ people, who }) {
  if (!people?.length) return null;
  return html`<section aria-labelledby="people">
    <h2 id="people">Who decides</h2>
    <ul class="people">
      ${people.map((each) => html`<li key=${each.who}><span><${Label} text=${each.who} />${each.who === who ? " (you)" : ""}</span> <span class="number">${many(each.decided)}</span></li>`)}
    </ul>
  </section>`;
}

/** Where decisions go: files, and the next run. */
export function Afterwards({ state, open }) {
  return html`<section aria-labelledby="afterwards">
    <h2 id="afterwards">Use the decisions</h2>
    ${state.can_run !== false && html`<p><button type="button" onClick=${() => open("again")}><${Key} name="R" /> Run again with these</button></p>`}
    <ul class="files">
      <li><a href="/export/decisions.sssom.tsv" download>Export as SSSOM</a></li>
      <li><a href="/export/decisions.tsv" download>Export as TSV</a></li>
    </ul>
  </section>`;
}

/** How many are decided, by verdict. */
export function Progress({ state }) {
  const { decided = 0, total = 0, by_verdict: verdicts = {} } = state;
  const parts = Object.entries(VERDICTS).filter(([name]) => verdicts[name]).map(([name, [, title]]) => `${many(verdicts[name])} ${title}`);
  return html`<div class="progress">
    <p><strong>${many(decided)}</strong> of ${many(total)} decided</p>
    <svg aria-hidden="true" height="6"><rect class="all" width="100%" height="6" rx="3" /><rect class="done" width=${`${total ? (100 * decided) / total : 0}%`} height="6" rx="3" /></svg>
    <p class="quiet">${parts.join(" · ")}</p>
  </div>`;
}
