/** Where the columns of the neuron view lie, in CSS pixels. */

export const ROW = 18;
export const HEADER = 62;
const GAP = 14;
const WIDE_NUMBER = 58;
const NARROW_NUMBER = 46;
const BAR = 70;
const SMALLEST_CELL = 1.5;
const LARGEST_CELL = 14;

export interface Layout {
  /** Width of one neuron. */
  cell: number;
  token: { x: number; width: number };
  /** The key vectors; null where only one of the two has room and the products are wanted. */
  key: { x: number; width: number } | null;
  /** Their products with the query; null where the keys are wanted instead. */
  product: { x: number; width: number } | null;
  /** Columns of numbers, by what they hold. */
  numbers: { name: "dot" | "bias" | "score"; x: number; width: number }[];
  /** The softmax: a bar and beside it the number, or the bar below the number where `bar` is 0. */
  weight: { x: number; bar: number; width: number };
  /** The weight in the map, where it is not the softmax. */
  mapped: { x: number; width: number } | null;
  /** All of it; wider than the room there is when even the smallest cells do not fit. */
  width: number;
}

export interface Needs {
  neurons: number;
  /** A bias or cap: the score is not the scaled product alone. */
  biased: boolean;
  mapped: boolean;
  /** What is shown where there is no room for both. */
  rather: "key" | "product";
}

export function layoutFor(room: number, { neurons, biased, mapped, rather }: Needs): Layout {
  const narrow = room < 560;
  const token = narrow ? 74 : 120;
  const number = narrow ? NARROW_NUMBER : WIDE_NUMBER;
  const bar = narrow ? 0 : BAR;
  const names: ("dot" | "bias" | "score")[] = biased ? (narrow ? ["score"] : ["dot", "bias", "score"]) : ["dot"];
  const fixed = token + names.length * number + bar + number - 8 + (mapped ? number : 0) + 2 * GAP;
  const both = (room - fixed - GAP) / (2 * neurons);
  const two = both >= (narrow ? 2 * SMALLEST_CELL : SMALLEST_CELL);
  const cell = Math.min(LARGEST_CELL, Math.max(SMALLEST_CELL, two ? both : (room - fixed) / neurons));
  const strip = cell * neurons;
  let x = token + GAP / 2;
  const key = two || rather === "key" ? { x, width: strip } : null;
  if (two) x += strip + GAP;
  const product = two || rather === "product" ? { x, width: strip } : null;
  x += strip + GAP / 2;
  const numbers = names.map((name, index) => ({ name, x: x + index * number, width: number }));
  x += names.length * number + GAP;
  const weight = { x, bar, width: bar + number - 8 };
  x += weight.width;
  const column = mapped ? { x, width: number } : null;
  if (column) x += number;
  return { cell, token: { x: 0, width: token }, key, product, numbers, weight, mapped: column, width: Math.ceil(x) };
}
