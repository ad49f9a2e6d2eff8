// What two entities have in common and where they differ, row by row. Nothing here draws.
import { called } from "./card.js";

const LONGEST = 120; // words that are compared one by one

const plain = (text) => String(text).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[\s\p{P}]+/gu, " ").trim();

/** Whether two texts say the same but for case, accents and punctuation. */
export function same(one, other) {
  return one === other || (plain(one) === plain(other) && plain(one) !== "");
}

/** Values side by side: those that the explanation compared, equal ones, those of the same attribute, those that are near, then the others. */
export function valueRows(source, target, explanation) {
  const all = distinct(source.values);
  const mine = [...all];
  const its = distinct(target?.values);
  const rows = [];
  const join = (fits, found) => {
    for (const one of [...mine]) {
      const other = its.find((each) => fits(one, each));
      if (!other) continue;
      mine.splice(mine.indexOf(one), 1);
      its.splice(its.indexOf(other), 1);
      const part = found?.(one, other);
      rows.push({ source: one, target: other, sign: signOf(one.value, other.value, part), alike: part?.similarity, compared: part?.compared });
    }
  };
  const compared = new Map();
  for (const part of (explanation?.groups ?? []).flatMap((group) => group.parts ?? [])) {
    if (part.source_value != null && part.target_value != null) compared.set(`${part.source_value}\n${part.target_value}`, part);
  }
  const partOf = (one, other) => compared.get(`${one.value}\n${other.value}`);
  join((one, other) => same(one.value, other.value));
  join(partOf, partOf);
  join((one, other) => plain(called(one.attribute)) === plain(called(other.attribute)));
  join((one, other) => near(one.value, other.value));
  return [
    ...rows.sort((one, other) => all.indexOf(one.source) - all.indexOf(other.source)),
    ...together(mine).map((one) => ({ source: one, target: null, sign: target ? "source" : "" })),
    ...together(its).map((other) => ({ source: null, target: other, sign: "target" })),
  ];
}

/** Values without those that an attribute has twice, such as a name that is the same in two languages. */
function distinct(values = []) {
  const found = new Map();
  for (const each of values) {
    const key = `${each.attribute}\n${plain(each.value) || each.value}`;
    if (!found.has(key)) found.set(key, each);
  }
  return [...found.values()];
}

/** The values of each attribute as one: the first, and what else there is. */
function together(values) {
  const found = new Map();
  for (const { attribute, value } of values) {
    if (found.has(attribute)) found.get(attribute).others.push(value);
    else found.set(attribute, { attribute, value, others: [] });
  }
  return [...found.values()];
}

/** Whether two values may well mean the same: numbers within a tenth, texts with half of their words in common. */
function near(one, other) {
  const [first, second] = [one, other].map((text) => Number(text.replaceAll(",", "")));
  if (one.trim() && other.trim() && !Number.isNaN(first + second)) return Math.abs(first - second) <= 0.1 * Math.max(Math.abs(first), Math.abs(second));
  const [mine, its] = [one, other].map((text) => new Set(plain(text).split(" ").filter(Boolean)));
  const common = [...mine].filter((word) => its.has(word)).length;
  return common > 0 && 2 * common >= Math.max(mine.size, its.size);
}

function signOf(one, other, part) {
  if (one === other) return "equal";
  return same(one, other) || part?.similarity >= 1 ? "nearly" : "differs";
}

/** Neighbours side by side: first those that are taken for the same, then those of one side only. */
export function neighbourRows(source, target) {
  const its = byName(target?.neighbours);
  const joined = [];
  const alone = [];
  for (const one of byName(source.neighbours)) {
    const other = its.find((each) => each.name === one.counterpart);
    if (other) {
      its.splice(its.indexOf(other), 1);
      joined.push({ source: one, target: other, sign: "joined" });
    } else {
      alone.push({ source: one, target: null, sign: target ? elsewhere(one) : "" });
    }
  }
  return [...joined, ...alone, ...its.map((other) => ({ source: null, target: other, sign: elsewhere(other) }))];
}

const elsewhere = (neighbour) => (neighbour.counterpart ? "elsewhere" : "unknown");

/** Each neighbour once, with all relations to it. */
function byName(neighbours = []) {
  const found = new Map();
  for (const { relation, inverse, ...each } of neighbours) {
    if (!found.has(each.name)) found.set(each.name, { ...each, relations: [] });
    found.get(each.name).relations.push({ relation, inverse });
  }
  return [...found.values()];
}

/** The types of both as one row, if there are any. */
export function typeRows(source, target) {
  const [mine, its] = [source, target].map((entity) => (entity?.types ?? []).map((type) => called(type)));
  if (!mine.length && !its.length) return [];
  const common = mine.filter((type) => its.some((each) => same(type, each)));
  const whole = common.length === mine.length && common.length === its.length;
  const sign = !mine.length || !its.length ? "" : whole ? "equal" : common.length ? "partly" : "differs";
  const row = (types) => (types.length ? { attribute: "type", value: types.join(", ") } : null);
  return [{ source: row(mine), target: row(its), sign }];
}

/** Both texts in pieces, each with whether the other text has it too. */
export function differences(one, other) {
  const [mine, its] = [words(one), words(other)];
  if (mine.length > LONGEST || its.length > LONGEST) return [[{ text: one, common: true }], [{ text: other, common: true }]];
  const kept = longestCommon(mine.map(plainWord), its.map(plainWord));
  if (!kept.some(([place]) => plain(mine[place]))) return [[{ text: one, common: true }], [{ text: other, common: true }]]; // all differs
  return [pieces(mine, new Set(kept.map(([place]) => place))), pieces(its, new Set(kept.map(([, place]) => place)))];
}

const plainWord = (word) => plain(word) || word.trim();

function words(text) {
  const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
  return [...segmenter.segment(text)].map(({ segment }) => segment);
}

/** Places of a longest sequence that both lists have. */
function longestCommon(one, other) {
  const length = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      length[i][j] = one[i] === other[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) found.push([i++, j++]);
    else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  }
  return found;
}

function pieces(all, common) {
  const found = [];
  all.forEach((text, place) => {
    const isCommon = common.has(place) || !plain(text);
    const last = found.at(-1);
    if (last && last.common === isCommon) last.text += text;
    else found.push({ text, common: isCommon });
  });
  return found;
}
