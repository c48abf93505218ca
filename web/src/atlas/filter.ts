/** Which colour a head gets from a colouring, and which heads a filter keeps. */

import type { Colouring } from "../data/api";
import { largestOf, shown, withError } from "../parts/numbers";

/** The smallest and the largest value; null when there is none. */
export function spread(colouring: Colouring): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of colouring.values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/**
 * The numbers at the two ends of the ramp: as far below 0 as above it for a diverging one, else from 0, as in the figures.
 * `stretched` spends the whole ramp on the values there are.
 */
export function extent(colouring: Colouring, stretched = false): [number, number] {
  const found = spread(colouring);
  if (found === null) return [0, 1];
  const [low, high] = found;
  if (colouring.diverging) {
    const far = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-far, far];
  }
  if (stretched && high > low) return [low, high];
  return low === 0 && high === 0 ? [0, 1] : [Math.min(0, low), Math.max(0, high)];
}

/** Which of `steps` equal steps from low to high a value falls into; null for no value. */
export function binOf(value: number | null, low: number, high: number, steps: number): number | null {
  if (value === null || !Number.isFinite(value)) return null;
  if (high <= low) return Math.floor((steps - 1) / 2);
  const place = Math.floor(((value - low) / (high - low)) * steps);
  return Math.max(0, Math.min(steps - 1, place));
}

/** The part of a filter that looks at values; `none` keeps every head. */
export type Kept = { how: "none" } | { how: "above" | "below"; value: number } | { how: "is"; label: string };

export const KEEP_ALL: Kept = { how: "none" };

/** From the URL: "above:0.5", "below:-0.1", "is:dense". What cannot be read keeps every head. */
export function parsePick(text: string): Kept {
  const found = /^(above|below|is):(.+)$/s.exec(text);
  if (!found) return KEEP_ALL;
  const [, how, rest] = found;
  if (how === "is") return { how, label: rest ?? "" };
  const value = Number(rest);
  return Number.isFinite(value) && rest?.trim() !== "" ? { how: how as "above" | "below", value } : KEEP_ALL;
}

export function printPick(pick: Kept): string {
  if (pick.how === "none") return "";
  return pick.how === "is" ? `is:${pick.label}` : `${pick.how}:${pick.value}`;
}

/** Whether a head of this value stays. A head without a value stays only when nothing is asked. */
export function keeps(pick: Kept, colouring: Colouring, index: number): boolean {
  if (pick.how === "none") return true;
  const value = colouring.values[index] ?? null;
  if (value === null) return false;
  if (pick.how === "is") return colouring.kind === "category" && colouring.labels?.[value] === pick.label;
  if (colouring.kind !== "number") return true;
  return pick.how === "above" ? value >= pick.value : value <= pick.value;
}

/** Whether a head answers a search: "3.2", "L3H2", "3." or "layer 3", else any part of the label it has in this or another category. */
export function answers(search: string, layer: number, head: number, labels: readonly string[]): boolean {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return true;
  return wanted.split(/\s*,\s*/).some((one) => answersOne(one, layer, head, labels));
}

/** The head that a text names: "7.4", "L7H4", "layer 7 head 4"; null where it names none. */
export function headNamed(text: string): { layer: number; head: number } | null {
  const named = /^(?:l(?:ayer)? ?)?(\d+)(?:\.|,? ?h(?:ead)? ?)(\d+)$/i.exec(text.trim());
  return named ? { layer: Number(named[1]), head: Number(named[2]) } : null;
}

function answersOne(wanted: string, layer: number, head: number, labels: readonly string[]): boolean {
  if (wanted === "") return false;
  const named = headNamed(wanted);
  if (named) return named.layer === layer && named.head === head;
  const ofLayer = /^(\d+)\.\*?$/.exec(wanted);
  if (ofLayer) return Number(ofLayer[1]) === layer;
  const place = /^(layer|head) ?(\d+)$/.exec(wanted);
  if (place) return Number(place[2]) === (place[1] === "layer" ? layer : head);
  return labels.some((label) => label.toLowerCase().includes(wanted));
}

/** The labels one head has in all categories of a stack. */
export function labelsOf(colourings: readonly Colouring[], index: number): string[] {
  const labels: string[] = [];
  for (const { kind, labels: names, values } of colourings) {
    const value = values[index] ?? null;
    if (kind === "category" && value !== null && names?.[value] !== undefined) labels.push(names[value]);
  }
  return labels;
}

/** Which heads stay under a filter, layer-major. */
export function keptHeads(
  colourings: readonly Colouring[],
  colouring: Colouring,
  heads: number,
  pick: Kept,
  search: string,
): boolean[] {
  const searching = search.trim() !== "";
  return colouring.values.map((_, index) => {
    if (!keeps(pick, colouring, index)) return false;
    return !searching || answers(search, Math.floor(index / heads), index % heads, labelsOf(colourings, index));
  });
}

export interface Group {
  name: string;
  members: Colouring[];
}

/** Colourings by group, in the order they come, only those whose title, group or key has every word of the search. */
export function grouped(colourings: readonly Colouring[], search: string): Group[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const groups = new Map<string, Colouring[]>();
  for (const one of colourings) {
    const text = `${one.group.replace(/_/g, " ")} ${one.title} ${one.key}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const members = groups.get(one.group);
    if (members) members.push(one);
    else groups.set(one.group, [one]);
  }
  return [...groups].map(([name, members]) => ({ name, members }));
}

/** A value with its unit and standard error, in words: "0.123 ± 0.004 nats". */
export function shownValue(colouring: Colouring, index: number): string {
  const value = colouring.values[index] ?? null;
  if (value === null) return "no value";
  if (colouring.kind === "category") return colouring.labels?.[value] ?? "no value";
  const among = largestOf(colouring.values);
  const error = colouring.stderr?.[index] ?? null;
  const unit = colouring.unit === "" || colouring.unit === "1" ? "" : ` ${colouring.unit}`;
  return `${error === null ? shown(value, 3, among) : withError(value, error, among)}${unit}`;
}

/** What is written into the cells of a grid: as many digits for all as tell heads apart; nothing for kinds. */
export function cellTexts(colouring: Colouring): string[] {
  const among = largestOf(colouring.values);
  if (colouring.kind === "category" || among < 0.005) return [];
  const digits = among < 0.05 ? 3 : among < 10 ? 2 : among < 100 ? 1 : 0;
  return colouring.values.map((value) =>
    value === null
      ? ""
      : value
          .toFixed(digits)
          .replace(/^-(?=0(\.0*)?$)/, "")
          .replace("-", "−"),
  );
}

/** All that a stack knows as a table: one row a head, one column a colouring, with its standard error where it has one. */
export function headRows(stack: {
  layers: number;
  heads: number;
  colourings: readonly Colouring[];
}): (string | number | null)[][] {
  const columns = stack.colourings.flatMap((colouring) => [
    {
      name: colouring.key,
      of: (index: number) => {
        const value = colouring.values[index] ?? null;
        return value !== null && colouring.kind === "category" ? (colouring.labels?.[value] ?? null) : value;
      },
    },
    ...(colouring.stderr
      ? [{ name: `${colouring.key}_stderr`, of: (index: number) => colouring.stderr?.[index] ?? null }]
      : []),
  ]);
  const rows = Array.from({ length: stack.layers * stack.heads }, (_, index) => [
    Math.floor(index / stack.heads),
    index % stack.heads,
    ...columns.map(({ of }) => of(index)),
  ]);
  return [["layer", "head", ...columns.map(({ name }) => name)], ...rows];
}
