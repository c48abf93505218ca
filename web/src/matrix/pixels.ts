/** Weights as colours. */

import type { LayerMaps } from "../data/source";
import { type Axes, gridOf, headCodes, type LevelTable, type WeightGrid } from "../data/weights";
import { picture } from "../parts/canvas";
import { pixel, placed, rampOf, type Scale } from "../parts/colour";

export interface Paint {
  threshold: number;
  scale: Scale;
  dark: boolean;
}

/** The largest weight between tokens that the filter lets pass. */
export function largestIn(grid: WeightGrid, axes: Axes): number {
  let largest = 0;
  for (let query = 0; query < grid.queries; query++) {
    if (!axes.query[query]) continue;
    for (let key = 0; key < grid.keys; key++) {
      if (axes.key[key]) largest = Math.max(largest, Math.abs(grid.at(query, key)) || 0);
    }
  }
  return largest;
}

const NOTHING = 0; // transparent

/** The pixel of a weight of a map whose largest weight is `largest`. */
export function painter({ threshold, scale, dark }: Paint, largest = 1, signed = false): (weight: number) => number {
  const ramp = Uint32Array.from(rampOf(signed ? "signed" : "share", dark), pixel);
  const last = ramp.length - 1;
  const strength = (weight: number): number => (weight < threshold ? 0 : Math.min(1, placed(weight, scale, largest)));
  if (!signed) return (weight) => ramp[Math.round(strength(weight) * last)]!;
  return (weight) => ramp[Math.round(((1 + Math.sign(weight) * strength(Math.abs(weight))) / 2) * last)]!;
}

/**
 * The matrix, one pixel a cell; what the sentence filter leaves out is transparent. `largest` is the weight of the full
 * colour, where colours are scaled to the map's largest.
 */
export function matrixPicture(
  grid: WeightGrid,
  axes: Axes,
  paint: Paint,
  largest = paint.scale === "max" ? largestIn(grid, axes) : 1,
): HTMLCanvasElement {
  const { queries, keys } = grid;
  const colour = painter(paint, largest, grid.signed);
  const pixels = new Uint32Array(queries * keys);
  for (let query = 0; query < queries; query++) {
    for (let key = 0; key < keys; key++) {
      const passes = axes.query[query] && axes.key[key];
      pixels[query * keys + key] = passes ? colour(grid.at(query, key)) : NOTHING;
    }
  }
  return picture(pixels, keys, queries);
}

/**
 * The largest code of each of rows x columns blocks of a map, so that a thin line is still there when it is small.
 *
 * `table` has 0 where a code counts as nothing; what the filter leaves out is 0.
 */
export function pooled(
  codes: Uint8Array,
  queries: number,
  keys: number,
  rows: number,
  columns: number,
  query: readonly boolean[],
  key: readonly boolean[],
): Uint8Array {
  const largest = new Uint8Array(rows * columns);
  const column = Int32Array.from({ length: keys }, (_, at) => (key[at] ? Math.floor((at * columns) / keys) : -1));
  for (let from = 0; from < queries; from++) {
    if (!query[from]) continue;
    const start = Math.floor((from * rows) / queries) * columns;
    for (let to = 0, at = from * keys; to < keys; to++, at++) {
      const place = start + column[to]!;
      if (column[to]! >= 0 && codes[at]! > largest[place]!) largest[place] = codes[at]!;
    }
  }
  return largest;
}

/** The same of changes: what is farthest from 0 in each block. */
function pooledChanges(grid: WeightGrid, rows: number, columns: number, axes: Axes): Float32Array {
  const largest = new Float32Array(rows * columns);
  for (let query = 0; query < grid.queries; query++) {
    if (!axes.query[query]) continue;
    const start = Math.floor((query * rows) / grid.queries) * columns;
    for (let key = 0; key < grid.keys; key++) {
      if (!axes.key[key]) continue;
      const place = start + Math.floor((key * columns) / grid.keys);
      const change = grid.at(query, key);
      if (Math.abs(change) > Math.abs(largest[place]!)) largest[place] = change;
    }
  }
  return largest;
}

/** A small picture of one head's map, at most size x size pixels. */
export function thumbnail(
  maps: LayerMaps,
  head: number,
  axes: Axes,
  size: number,
  levels: LevelTable,
  paint: Paint,
): HTMLCanvasElement {
  const queries = axes.queries.length;
  const keys = axes.keys.length;
  const rows = Math.min(queries, size);
  const columns = Math.min(keys, size);
  const grid = gridOf(maps, head, levels, axes);
  if (grid.signed) {
    const changes = pooledChanges(grid, rows, columns, axes);
    const most = changes.reduce((so, change) => Math.max(so, Math.abs(change)), 0);
    return picture(Uint32Array.from(changes, painter(paint, most, true)), columns, rows);
  }
  const blocks = pooled(headCodes(maps, head), queries, keys, rows, columns, axes.query, axes.key);
  const largest = levels[blocks.reduce((most, code) => Math.max(most, code), 0)] ?? 1;
  const table = Uint32Array.from(levels as number[], painter(paint, largest));
  return picture(
    Uint32Array.from(blocks, (code) => table[code]!),
    columns,
    rows,
  );
}
