/** Naming heads as the command line does: 3.2, 3.*, layer 3, layers 3-5, all, all but ..., each with its stack where there are several. */

import type { Grid } from "../parts/headgrid";

/** A chosen head as one string, such as "encoder:3.2": what sets of heads hold. */
export type HeadKey = string;

export function headKey(stack: string, layer: number, head: number): HeadKey {
  return `${stack}:${layer}.${head}`;
}

/** What was read from a text that names heads. */
export interface Choice {
  heads: Set<HeadKey>;
  /** What is wrong with it, in words; empty when all of it was understood. */
  error: string;
  /** True when only the server can tell which heads are meant (type:..., top 10 by ...). */
  lookedUp: boolean;
}

const LOOKED_UP = /^(?:(?:type|pattern) ?: ?\S|(?:top|bottom) \d+ by \S)/i;

/** The heads a text names; an empty text names none. */
export function parseHeads(text: string, grids: readonly Grid[]): Choice {
  const choice: Choice = { heads: new Set(), error: "", lookedUp: false };
  const trimmed = text.trim();
  if (trimmed === "") return choice;
  const allBut = /^all but\b/i.test(trimmed);
  for (const item of trimmed.replace(/^all but\b/i, "").split(",")) {
    if (choice.error === "") choice.error = addItem(choice, item.trim(), grids);
  }
  if (allBut && choice.error === "" && !choice.lookedUp) {
    choice.heads = new Set([...every(grids)].filter((key) => !choice.heads.has(key)));
  }
  if (choice.error !== "") choice.heads = new Set();
  return choice;
}

function addItem(choice: Choice, item: string, grids: readonly Grid[]): string {
  if (item === "") return "there is an empty place between commas; write heads as 3.2, layers as layer 3";
  if (/^all$/i.test(item)) {
    for (const key of every(grids)) choice.heads.add(key);
    return "";
  }
  const named = /^(encoder|decoder|cross)(?: *: *| +)/i.exec(item);
  const what = named ? item.slice(named[0].length) : item;
  if (LOOKED_UP.test(what)) {
    choice.lookedUp = true;
    return "";
  }
  const grid = named ? grids.find((one) => one.name === named[1]?.toLowerCase()) : grids[0];
  if (!grid) return named ? `this model has no ${named[1]}` : "";
  if (!named && grids.length > 1) {
    return `say which stack ${item} is in: ${grids.map((one) => `${one.name} ${item}`).join(" or ")}`;
  }
  return addCounted(choice.heads, what, grid);
}

function addCounted(heads: Set<HeadKey>, what: string, grid: Grid): string {
  const one = /^(\d+) ?\. ?(\d+)$/.exec(what);
  const layers = /^(?:(\d+) ?\. ?\*|layers? (\d+)(?: ?- ?(\d+))?)$/i.exec(what);
  if (one) {
    const [layer, head] = [Number(one[1]), Number(one[2])];
    if (layer >= grid.layers || head >= grid.heads) {
      return `there is no head ${layer}.${head}: layers go from 0 to ${grid.layers - 1}, heads from 0 to ${grid.heads - 1}`;
    }
    heads.add(headKey(grid.name, layer, head));
    return "";
  }
  const all = /^all$/i.test(what);
  if (!layers && !all) return `“${what}” names no heads; write heads as 3.2, layers as layer 3 or layers 3-5`;
  const first = layers ? Number(layers[1] ?? layers[2]) : 0;
  const last = layers ? Number(layers[3] ?? first) : grid.layers - 1;
  if (first > last) return `layers ${first}-${last} runs backwards; write layers ${last}-${first}`;
  if (last >= grid.layers) return `there is no layer ${last}: layers go from 0 to ${grid.layers - 1}`;
  for (let layer = first; layer <= last; layer++) addLayer(heads, grid, layer);
  return "";
}

function addLayer(heads: Set<HeadKey>, grid: Grid, layer: number): void {
  for (let head = 0; head < grid.heads; head++) heads.add(headKey(grid.name, layer, head));
}

function every(grids: readonly Grid[]): Set<HeadKey> {
  const heads = new Set<HeadKey>();
  for (const grid of grids) for (let layer = 0; layer < grid.layers; layer++) addLayer(heads, grid, layer);
  return heads;
}

/** The shortest text that names these heads: whole layers as layers, in order. */
export function printHeads(heads: ReadonlySet<HeadKey>, grids: readonly Grid[]): string {
  const parts: string[] = [];
  let chosen = 0;
  for (const grid of grids) {
    const prefix = grids.length > 1 ? `${grid.name} ` : "";
    for (let layer = 0; layer < grid.layers; layer++) {
      const present: number[] = [];
      for (let head = 0; head < grid.heads; head++) if (heads.has(headKey(grid.name, layer, head))) present.push(head);
      chosen += present.length;
      if (present.length === grid.heads && grid.heads > 1) parts.push(`${prefix}layer ${layer}`);
      else parts.push(...present.map((head) => `${prefix}${layer}.${head}`));
    }
  }
  const total = grids.reduce((sum, grid) => sum + grid.layers * grid.heads, 0);
  return chosen === total && total > 0 ? "all" : parts.join(", ");
}
