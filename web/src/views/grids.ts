/** The weights that a view of one layer shows. */
import { useMemo } from "preact/hooks";
import type { Seen, StackShape } from "../api";
import { headCodes, headWeights } from "../decode";
import type { LayerMaps } from "../source";
import type { State } from "../state";
import { axesOf, type Axis, filtered, fold } from "../tokens";
import type { Grid } from "./lines";

export interface Axes {
  queries: Axis;
  keys: Axis;
  /** Which tokens pass the sentence filter. */
  query: boolean[];
  key: boolean[];
}

export function useAxes(seen: Seen, stack: StackShape, state: State): Axes {
  return useMemo(() => {
    const { queries, keys } = axesOf(seen, stack, state.level);
    return { queries, keys, ...filtered(stack.queries === stack.keys ? state.filter : "all", queries, keys) };
  }, [seen, stack, state.level, state.filter]);
}

/** Pieces: weights are looked up when they are asked for, since most of a long text is never in sight. */
class Pieces implements Grid {
  constructor(
    readonly queries: number,
    readonly keys: number,
    private readonly codes: Uint8Array,
    private readonly table: Float32Array,
  ) {}

  at(query: number, key: number): number {
    return this.table[this.codes[query * this.keys + key]!]!;
  }
}

class Words implements Grid {
  constructor(
    readonly queries: number,
    readonly keys: number,
    private readonly weights: Float32Array,
  ) {}

  at(query: number, key: number): number {
    return this.weights[query * this.keys + key]!;
  }
}

/** One head's weights between the axes' tokens. */
export function gridOf(maps: LayerMaps, head: number, levels: readonly number[], axes: Axes): Grid {
  const { queries, keys } = axes;
  if (queries.length === maps.queries && keys.length === maps.keys) {
    return new Pieces(maps.queries, maps.keys, headCodes(maps, head), Float32Array.from(levels));
  }
  return new Words(queries.length, keys.length, fold(headWeights(maps, head, levels), queries, keys));
}

/** A label that can be seen: line breaks and the like as signs. */
export function visible(label: string): string {
  const shown = label.replaceAll("\n", "↵").replaceAll("\r", "↵").replaceAll("\t", "⇥");
  return shown.trim() === "" ? "␣".repeat(Math.max(1, Math.min(shown.length, 8))) : shown;
}

/** A weight as a number: three decimals, more when it is small. */
export function asNumber(weight: number): string {
  if (weight === 0) return "0";
  if (weight < 0.0005) return weight < 0.00001 ? "<0.00001" : weight.toFixed(5);
  return weight.toFixed(weight < 0.01 ? 4 : 3);
}
