/** Codes as weights (see `Seen` in headscope.pages.shapes), between the tokens that are shown. */

import { useMemo } from "preact/hooks";
import type { Seen, StackShape } from "./api";
import { amountOf, type LayerMaps } from "./source";
import { type Axis, axesOf, errorOf, type Filter, filtered, fold, type Level } from "./tokens";

/** The codes of one head: (query, key), a view into the layer's. */
export function headCodes(maps: LayerMaps, head: number): Uint8Array {
  const size = maps.queries * maps.keys;
  return maps.codes.subarray(head * size, (head + 1) * size);
}

/** One head's weights between pieces, looked up when they are asked for, since most of a long text are never in sight. */
export interface Stored {
  /** (query * keys + key) */
  at(place: number): number;
}

/** One byte a weight: asked millions of times a picture, so it does nothing but look up. */
class Levels implements Stored {
  constructor(
    private readonly codes: Uint8Array,
    private readonly table: Float32Array,
  ) {}

  at(place: number): number {
    return this.table[this.codes[place]!]!;
  }
}

/** Two bytes: the second says where between the middles around its level the weight lies. */
class Between implements Stored {
  constructor(
    private readonly codes: Uint8Array,
    private readonly second: Uint8Array,
    private readonly low: Float32Array,
    private readonly step: Float32Array,
  ) {}

  at(place: number): number {
    const code = this.codes[place]!;
    return this.low[code]! + this.step[code]! * this.second[place]!;
  }
}

/** Changes: what cannot be told from 0, by how they are stored, is 0. */
class Changes implements Stored {
  constructor(
    private readonly stored: Stored,
    private readonly error: number,
  ) {}

  at(place: number): number {
    const change = this.stored.at(place);
    return Math.abs(change) <= this.error ? 0 : change;
  }
}

/** What each byte stands for; null for no number. */
export type LevelTable = readonly (number | null)[];

export function weightsOf(maps: LayerMaps, head: number, table: LevelTable): Stored {
  const levels = table.map((level) => level ?? Number.NaN);
  const codes = headCodes(maps, head);
  if (maps.second === null) return new Levels(codes, Float32Array.from(levels));
  const second = maps.second.subarray(head * codes.length, (head + 1) * codes.length);
  // Nothing is below the first level, and nothing above the last.
  const known = table.filter((level) => level !== null).length;
  const middle = (level: number): number =>
    level <= 0 ? levels[0]! : level >= known ? levels[known - 1]! : (levels[level - 1]! + levels[level]!) / 2;
  const low = Float32Array.from(levels, (level, at) => (Number.isNaN(level) ? level : middle(at)));
  const step = Float32Array.from(levels, (_, level) => (middle(level + 1) - middle(level)) / 255);
  const stored = new Between(codes, second, low, step);
  return levels[0]! < 0
    ? new Changes(
        stored,
        step.reduce((most, each) => Math.max(most, each), 0),
      )
    : stored;
}

/** Weights between the tokens that are shown. */
export interface WeightGrid {
  /** Whether these may be below 0: changes, or signed shares. */
  readonly signed: boolean;
  readonly queries: number;
  readonly keys: number;
  at(query: number, key: number): number;
}

export interface Axes {
  queries: Axis;
  keys: Axis;
  /** Which tokens pass the sentence filter. */
  query: boolean[];
  key: boolean[];
  /** How far a weight between these tokens may be from the true one. */
  error: number;
  /** What a number between two tokens is, in words. */
  amount: string;
}

export function useAxes(seen: Seen, stack: StackShape, state: { level: Level; filter: Filter }): Axes {
  return useMemo(() => {
    const { queries, keys } = axesOf(seen, stack, state.level);
    const passing = filtered(stack.queries === stack.keys ? state.filter : "all", queries, keys);
    return { queries, keys, ...passing, error: errorOf(seen, state.level), amount: amountOf(seen) };
  }, [seen, stack, state.level, state.filter]);
}

/** Pieces: weights are looked up when they are asked for, since most of a long text is never in sight. */
class Pieces implements WeightGrid {
  constructor(
    readonly queries: number,
    readonly keys: number,
    readonly signed: boolean,
    private readonly stored: Stored,
  ) {}

  at(query: number, key: number): number {
    return this.stored.at(query * this.keys + key);
  }
}

class Words implements WeightGrid {
  constructor(
    readonly queries: number,
    readonly keys: number,
    readonly signed: boolean,
    private readonly weights: Float32Array,
  ) {}

  at(query: number, key: number): number {
    return this.weights[query * this.keys + key]!;
  }
}

/** One head's weights between the axes' tokens. */
export function gridOf(maps: LayerMaps, head: number, levels: LevelTable, axes: Axes): WeightGrid {
  const { queries, keys } = axes;
  const signed = (levels[0] ?? 0) < 0;
  const stored = weightsOf(maps, head, levels);
  if (queries.length === maps.queries && keys.length === maps.keys) {
    return new Pieces(maps.queries, maps.keys, signed, stored);
  }
  const weights = Float32Array.from({ length: maps.queries * maps.keys }, (_, place) => stored.at(place));
  return new Words(queries.length, keys.length, signed, fold(weights, queries, keys));
}
