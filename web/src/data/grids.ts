/** The weights that a view of one layer shows. */
import { useMemo } from "preact/hooks";
import type { Grid } from "../head/lines";
import type { State } from "../shell/state";
import type { Seen, StackShape } from "./api";
import type { LayerMaps } from "./source";
import { type Axis, axesOf, filtered, fold } from "./tokens";
import { type Stored, weightsOf } from "./weights";

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
    private readonly stored: Stored,
  ) {}

  at(query: number, key: number): number {
    return this.stored.at(query * this.keys + key);
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
  const stored = weightsOf(maps, head, levels);
  if (queries.length === maps.queries && keys.length === maps.keys) {
    return new Pieces(maps.queries, maps.keys, stored);
  }
  const weights = Float32Array.from({ length: maps.queries * maps.keys }, (_, place) => stored.at(place));
  return new Words(queries.length, keys.length, fold(weights, queries, keys));
}

/** A weight as a number: three decimals, four when it is small; more would be more than is stored. */
export function asNumber(weight: number): string {
  if (weight === 0) return "0";
  if (weight < 0.00005) return "<0.0001";
  return weight.toFixed(weight < 0.01 ? 4 : 3);
}
