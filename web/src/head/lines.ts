/** Which lines the head view draws. */

import type { WeightGrid } from "../data/weights";
import { headColour, rampColour } from "../parts/colour";

/** Lines as columns of equal length. */
export interface Lines {
  count: number;
  query: Int32Array;
  key: Int32Array;
  /** Index into the heads that are shown. */
  head: Uint16Array;
  weight: Float32Array;
  /** How many there would have been without a limit. */
  of: number;
}

export interface Window {
  /** The first row in sight, and the one after the last. */
  from: number;
  to: number;
}

export interface Wanted {
  threshold: number;
  query: readonly boolean[];
  key: readonly boolean[];
  rows: Window;
  /** The one token whose lines are wanted; null for those of all. */
  only: { side: "query" | "key"; index: number } | null;
  /** No more than so many, the strongest. */
  limit: number;
}

/**
 * Calls `use` for every pair that is wanted: at least one end is in sight, both pass the filter, the weight is enough.
 * What `use` returns is the least weight from then on.
 */
function each(grid: WeightGrid, wanted: Wanted, use: (query: number, key: number, weight: number) => number): void {
  const { queries, keys } = grid;
  const { rows, only } = wanted;
  let least = Math.max(wanted.threshold, Number.MIN_VALUE);
  const fromQuery = only?.side === "query" ? only.index : 0;
  const toQuery = only?.side === "query" ? Math.min(only.index + 1, queries) : queries;
  const fromKey = only?.side === "key" ? only.index : 0;
  const toKey = only?.side === "key" ? Math.min(only.index + 1, keys) : keys;
  for (let query = fromQuery; query < toQuery; query++) {
    if (!wanted.query[query]) continue;
    const inSight = query >= rows.from && query < rows.to;
    const last = inSight ? toKey : Math.min(toKey, rows.to);
    for (let key = inSight ? fromKey : Math.max(fromKey, rows.from); key < last; key++) {
      const weight = grid.at(query, key);
      if (Math.abs(weight) >= least && wanted.key[key]) least = use(query, key, weight);
    }
  }
}

const FAINTEST = 0.01;

/** The weight from which a line is drawn, unless the reader says otherwise: less in long texts, where even attention is less. */
export function faintest(keys: number): number {
  return Math.min(FAINTEST, 1 / Math.max(1, keys));
}

/**
 * The weight of a line that is drawn at full strength: the strongest that is shown, up to the next power of two, so that it
 * seldom changes while one scrolls.
 */
export function reachOf({ count, weight }: Pick<Lines, "count" | "weight">): number {
  let strongest = 0;
  for (let line = 0; line < count; line++) strongest = Math.max(strongest, Math.abs(weight[line]!));
  return reachTo(strongest);
}

/** The same where the strongest weight is known. */
export function reachTo(strongest: number): number {
  return strongest > 0 ? Math.min(1, 2 ** Math.ceil(Math.log2(strongest))) : 1;
}

/** How opaque a line is; the lines of many heads lie above each other. */
export function opacity(weight: number, reach: number, heads: number): number {
  return Math.min(1, 0.02 + 0.98 * (Math.abs(weight) / reach) ** (heads === 1 ? 0.75 : 1.1));
}

/** The colour of a line: its head's, or for a change whether it is more or less. */
export function lineColour(head: number, weight: number, signed: boolean, dark: boolean): string {
  return signed ? rampColour("signed", dark, weight > 0 ? 0.9 : 0.1) : headColour(head, dark);
}

const BINS = 1024;

/** The lines to draw, weak ones first. */
export function linesOf(grids: readonly WeightGrid[], wanted: Wanted): Lines {
  const least = Math.max(wanted.threshold, Number.MIN_VALUE);
  const found = { query: [] as number[], key: [] as number[], head: [] as number[], weight: [] as number[] };
  const bins = new Int32Array(BINS + 1);
  grids.forEach((grid, head) => {
    each(grid, wanted, (query, key, weight) => {
      found.query.push(query);
      found.key.push(key);
      found.head.push(head);
      found.weight.push(weight);
      bins[binOf(weight)]!++;
      return least;
    });
  });
  // The lowest bin that can be drawn in full within the limit.
  let lowest = BINS + 1;
  let count = 0;
  while (lowest > 0 && count + bins[lowest - 1]! <= wanted.limit) count += bins[--lowest]!;
  const places = new Int32Array(BINS + 2);
  for (let bin = lowest; bin <= BINS; bin++) places[bin + 1] = places[bin]! + bins[bin]!;
  const of = found.weight.length;
  const query = new Int32Array(count);
  const key = new Int32Array(count);
  const head = new Uint16Array(count);
  const weight = new Float32Array(count);
  for (let at = 0; at < of; at++) {
    const bin = binOf(found.weight[at]!);
    if (bin < lowest) continue;
    const place = places[bin]!++;
    query[place] = found.query[at]!;
    key[place] = found.key[at]!;
    head[place] = found.head[at]!;
    weight[place] = found.weight[at]!;
  }
  return { count, query, key, head, weight, of };
}

/** Finer for small weights, of which there are many. */
function binOf(weight: number): number {
  return Math.round(Math.sqrt(Math.min(1, Math.abs(weight))) * BINS);
}

export interface Link {
  query: number;
  key: number;
  /** Mean over the heads that are shown. */
  mean: number;
  /** Index of the strongest of the heads that are shown, and its weight. */
  head: number;
  weight: number;
}

/** The strongest links from a query (or to a key), by their mean over the heads, strongest first. */
export function linksOf(
  grids: readonly WeightGrid[],
  side: "query" | "key",
  index: number,
  allowed: readonly boolean[],
): Link[] {
  const grid = grids[0];
  if (grid === undefined) return [];
  const count = side === "query" ? grid.keys : grid.queries;
  const links: Link[] = [];
  for (let other = 0; other < count; other++) {
    if (!allowed[other]) continue;
    const query = side === "query" ? index : other;
    const key = side === "query" ? other : index;
    const link: Link = { query, key, mean: 0, head: 0, weight: 0 };
    grids.forEach((each, head) => {
      const weight = each.at(query, key);
      link.mean += weight / grids.length;
      if (Math.abs(weight) > Math.abs(link.weight)) {
        link.weight = weight;
        link.head = head;
      }
    });
    links.push(link);
  }
  return links.sort((one, other) => Math.abs(other.mean) - Math.abs(one.mean));
}

/** The strongest links of all, one head each, strongest first. */
export function strongest(grids: readonly WeightGrid[], wanted: Wanted, most: number): Link[] {
  const found: Link[] = [];
  const byWeight = (one: Link, other: Link): number => Math.abs(other.weight) - Math.abs(one.weight);
  let least = Math.max(wanted.threshold, Number.MIN_VALUE);
  grids.forEach((grid, head) => {
    each(grid, { ...wanted, threshold: least }, (query, key, weight) => {
      if (found.length === most && Math.abs(weight) <= Math.abs(found[most - 1]!.weight)) return least;
      found.push({ query, key, mean: weight, head, weight });
      found.sort(byWeight);
      if (found.length > most) found.length = most;
      if (found.length === most) least = Math.abs(found[most - 1]!.weight);
      return least;
    });
  });
  return found;
}
