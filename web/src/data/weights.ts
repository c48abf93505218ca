/** Codes as weights: see `Seen` in headscope.views.shapes. */
import { headCodes } from "./decode";
import type { LayerMaps } from "./source";

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

export function weightsOf(maps: LayerMaps, head: number, levels: readonly number[]): Stored {
  const codes = headCodes(maps, head);
  if (maps.second === null) return new Levels(codes, Float32Array.from(levels));
  const second = maps.second.subarray(head * codes.length, (head + 1) * codes.length);
  // Nothing is below the first level, and nothing above 1.
  const middle = (level: number): number =>
    level <= 0 ? 0 : level >= levels.length ? 1 : (levels[level - 1]! + levels[level]!) / 2;
  return new Between(
    codes,
    second,
    Float32Array.from(levels, (_, level) => middle(level)),
    Float32Array.from(levels, (_, level) => (middle(level + 1) - middle(level)) / 255),
  );
}
