// The keys of the page: what each does, in the order in which the help shows them.

export const KEYS = [
  ["y", "right", "Right: the source and the target shown are the same"],
  ["n", "wrong", "Wrong: these two are not the same"],
  ["0", "none", "No counterpart: the target graph does not have it"],
  ["u", "unsure", "Unsure: nobody could tell from this"],
  ["1", "candidate", "Compare with the candidate of this number, 1 to 9; then say whether it is right"],
  ["/", "search", "Search for another target"],
  ["c", "comment", "Write a comment that goes with the decision"],
  ["z", "undo", "Take back your last decision, or your last acceptance in bulk; again for the one before"],
  ["m", "more", "Show all values and neighbours, or fewer"],
  ["o", "source", "Open the source's own page"],
  ["p", "target", "Open the target's own page"],
  ["q", "queues", "Choose which cards come next"],
  ["f", "find", "Find the card of a source, decided or not"],
  ["b", "bulk", "Accept many links at once"],
  ["g", "good", "Go to “How good is it?”"],
  ["r", "again", "Run again with these decisions"],
  ["t", "theme", "Light or dark"],
  ["?", "help", "Show the keys"],
];
const ACTIONS = new Map(KEYS.map(([key, action]) => [key, action]));
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const MODIFIERS = ["ctrlKey", "altKey", "metaKey"];

/** What a key asks for, if it asks for anything: [action, number of a candidate]. */
export function actionOf(event) {
  if (event.defaultPrevented || event.repeat || event.isComposing || MODIFIERS.some((name) => event[name])) return null;
  if (event.target.closest?.(TYPED) || document.querySelector("dialog[open]")) return null;
  const key = latin(event);
  if (/^[1-9]$/.test(key)) return ["candidate", Number(key)];
  return ACTIONS.has(key) ? [ACTIONS.get(key)] : null;
}

/** The key's letter; on a keyboard of another script, the letter that stands there on a Latin one. */
function latin({ key, code }) {
  if (/^[ -~]$/.test(key)) return key.toLowerCase();
  return code.match(/^(?:Key|Digit)(.)$/)?.[1].toLowerCase() ?? "";
}
