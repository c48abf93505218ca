/** Points of the map view on the page. */

export type Point = readonly [number, number];

export interface Box {
  from: Point;
  to: Point;
}

const EDGE = 16;

/** Points moved into a square, with one scale for both directions so that distances keep their proportion. */
export function placedIn(points: readonly Point[], side: number): Point[] {
  const middle = [0, 1].map((axis) => {
    const values = points.map((point) => point[axis as 0 | 1]).filter(Number.isFinite);
    return values.length > 0 ? (Math.min(...values) + Math.max(...values)) / 2 : 0;
  });
  const [x0 = 0, y0 = 0] = middle;
  const far = Math.max(
    ...points.map(([x, y]) => Math.max(Math.abs(x - x0), Math.abs(y - y0))).filter(Number.isFinite),
    1e-12,
  );
  const scale = (side / 2 - EDGE) / far;
  return points.map(([x, y]) => [side / 2 + scale * (x - x0), side / 2 - scale * (y - y0)]);
}

const AXIS = 58; // pixels for the numbers along an axis

export interface Axis {
  /** The value at the low and at the high end. */
  low: number;
  high: number;
  /** Pixels of these ends. */
  from: number;
  to: number;
}

/** Where values lie along an axis with some air at both ends; a head without a value lies nowhere. */
export function axisOf(values: readonly (number | null)[], side: number, upright: boolean): Axis {
  const known = values.filter((value) => value !== null);
  const low = known.length > 0 ? Math.min(...known) : 0;
  const high = known.length > 0 ? Math.max(...known) : 1;
  const air = 0.04 * (high - low || 1);
  const ends = upright ? { from: side - AXIS, to: EDGE } : { from: AXIS, to: side - EDGE };
  return { low: low - air, high: high + air, ...ends };
}

export function along({ low, high, from, to }: Axis, value: number | null): number {
  return value === null ? Number.NaN : from + ((value - low) / (high - low)) * (to - from);
}

/** Four to seven round numbers within an axis. */
export function ticksOf({ low, high }: Axis): number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough) ?? rough;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) =>
    Number(((first + at) * step).toPrecision(6)),
  );
}

/** The numbers of the points inside a box, whichever corners it was drawn between. */
export function inBox(points: readonly Point[], { from, to }: Box): number[] {
  const [left, right] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])];
  const [top, bottom] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
  const found: number[] = [];
  points.forEach(([x, y], index) => {
    if (x >= left && x <= right && y >= top && y <= bottom) found.push(index);
  });
  return found;
}
