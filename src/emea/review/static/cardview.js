// The card: what is asked, both entities, the candidates, the reasons, and what one can answer.
import { waterfall, whyNot, withoutThese } from "./card.js";
import { Candidates, Search } from "./choosing.js";
import { Key, Label, Made, html, titleOf } from "./markup.js";
import { VERDICTS } from "./panels.js";
import { Heads, Sides } from "./sides.js";

/** The target that is compared: the proposed one, a candidate, or one that was searched for. */
export function shownTarget({ card, shown, other }) {
  if (!shown) return null;
  return card.candidates.find(({ target }) => target.name === shown)?.target ?? (other?.name === shown ? other : { name: shown });
}

/** The confidence of the target that is compared, where it may be told. */
export function shownConfidence({ card, shown }) {
  return card.candidates.find(({ target }) => target.name === shown)?.confidence ?? null;
}

function question(card, shown) {
  if (!shown) return "Does the source have a counterpart?";
  return card.candidates.length < 2 || (!card.hidden && card.proposed) ? "Are these two the same?" : "Which target is the same, if any?";
}

/** Everything about one source. */
export function CardView({ view, all, pick, pickOther, search, searching, stopSearch, more, back }) {
  const { card, shown, other } = view;
  const target = shownTarget(view);
  const about = card.explanation && target && card.explanation.target === target.name ? card.explanation : null;
  return html`<article class="link" aria-labelledby="question">
    <h2 id="question" tabindex="-1">${question(card, shown)}</h2>
    ${card.decided && html`<${Decided} decided=${card.decided} back=${back} />`}
    ${card.hidden && html`<p class="note"><strong>Score hidden:</strong> this card was drawn at random, to measure how good the links are.</p>`}
    ${card.loading && html`<p class="note" role="status">The graphs are being read: values, neighbours and reasons follow in a moment.</p>`}
    <${Heads} source=${card.source} target=${target} confidence=${shownConfidence(view)} hidden=${card.hidden} />
    <${Candidates} card=${card} shown=${shown} other=${other} pick=${pick} search=${search} />
    ${searching && html`<${Search} side="target" pick=${pickOther} close=${stopSearch} />`}
    <${Sides} source=${card.source} target=${target} explanation=${about} all=${all} more=${more} />
    ${!card.hidden && html`<${Reasons} card=${card} target=${target} />`}
  </article>`;
}

function Decided({ decided, back }) {
  const at = decided.at ? ` on ${new Date(decided.at).toLocaleString()}` : "";
  return html`<p class="note">
    <strong>Decided: ${VERDICTS[decided.verdict]?.[1] ?? decided.verdict}</strong>${decided.who && html` by <${Label} text=${decided.who} />`}${at}${decided.comment && html`: <${Label} text=${decided.comment} />`}.
    A new answer replaces it. <button type="button" class="plain" onClick=${back}>Back to the queue <${Key} name="Esc" /></button>
  </p>`;
}

/** Why the proposed target was proposed, as the report tells it. */
function Reasons({ card, target }) {
  const { explanation } = card;
  if (!explanation) return null;
  const { groups = [], smallest_set: smallest, runner_up: rival, notes = [], not_compared: left = [] } = explanation;
  const told = groups.length
    ? () => [waterfall(explanation), smallest ? withoutThese(smallest) : null, rival ? whyNot(explanation, rival) : null].filter(Boolean)
    : () => [];
  const another = target && target.name !== explanation.target;
  return html`<section class="reasons" aria-labelledby="reasons">
    <h3 id="reasons">Why${another ? html` <${Label} text=${explanation.target_label || explanation.target || ""} />` : " this"} was ${explanation.status === "link" ? "proposed" : "considered"}</h3>
    ${notes.map((note) => html`<p class="quiet"><${Label} text=${note} /></p>`)}
    <${Made} class="card" of=${explanation} make=${told} />
    ${left.map((line) => html`<p class="quiet"><${Label} text=${line} /></p>`)}
  </section>`;
}

/** The answers, a comment, and what was done last. */
export function Answers({ view, message, act, write, back }) {
  const nothing = !view.shown;
  const correction = view.shown && view.card.proposed && view.shown !== view.card.proposed;
  const pressed = (event) => ["Enter", "Escape"].includes(event.key) && !event.isComposing && back(event);
  return html`<div class="answers" role="group" aria-label="Answer">
    <div class="verdicts">
      <${Answer} name="right" mark="✓" text=${correction ? "This one" : "Right"} hint="Y" disabled=${nothing} act=${act} />
      <${Answer} name="wrong" mark="✗" text="Wrong" hint="N" disabled=${nothing} act=${act} />
      <${Answer} name="none" mark="∅" text="No counterpart" hint="0" act=${act} />
      <${Answer} name="unsure" mark="?" text="Unsure" hint="U" act=${act} />
    </div>
    <div class="besides">
      <label for="comment"><${Key} name="C" /> <span class="word">Comment</span></label>
      <input id="comment" type="text" dir="auto" autocomplete="off" maxlength="1000" value=${view.comment}
        onInput=${(event) => write(event.target.value)} onKeyDown=${pressed} />
      <button type="button" class="plain" onClick=${() => act("undo")}><${Key} name="Z" /> Undo</button>
      <p class="message">${message && html`<${Label} text=${message} />`}</p>
    </div>
  </div>`;
}

function Answer({ name, mark, text, hint, disabled, act }) {
  return html`<button type="button" class=${`answer ${name}`} disabled=${disabled} aria-keyshortcuts=${hint} onClick=${() => act(name)}>
    <span class="mark" aria-hidden="true">${mark}</span> <span class="text">${text}</span> <${Key} name=${hint} />
  </button>`;
}

/** What to read aloud when a card comes. */
export function spoken(view) {
  const { card, shown } = view;
  const target = shownTarget(view);
  const confidence = shownConfidence(view);
  const parts = [`Source: ${titleOf(card.source)}`, target ? `target: ${titleOf(target)}` : "no target is proposed"];
  if (card.hidden) parts.push("score hidden");
  else if (confidence != null) parts.push(`confidence ${confidence.toFixed(2)}`);
  if (shown !== card.proposed && shown) parts.push(`${card.candidates.length} candidates`);
  return parts.join(", ");
}
