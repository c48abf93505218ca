/** What two predictions have in common: the untouched model's, and the one with heads switched off. */

import type { Guess } from "../data/api";

export interface Row {
  text: string;
  probability: number;
  /** What the other model gives it; null when it is not among that one's best. */
  other: number | null;
  /** Its place among the other's best, from 0; null when it is not there. */
  otherRank: number | null;
}

export interface Compared {
  place: string;
  /** Whether the best answer is another one now. */
  changed: boolean;
  before: Row[];
  after: Row[];
}

/** Two guesses at the same place, side by side. */
export function compared(before: Guess, after: Guess): Compared {
  const rows = (own: Guess, other: Guess): Row[] =>
    own.options.map(({ text, probability }) => {
      const rank = other.options.findIndex((option) => option.text === text);
      return { text, probability, other: other.options[rank]?.probability ?? null, otherRank: rank < 0 ? null : rank };
    });
  return {
    place: before.place,
    changed: before.options[0]?.text !== after.options[0]?.text,
    before: rows(before, after),
    after: rows(after, before),
  };
}

/** All places; a place that only one side has is compared with nothing. */
export function comparedAll(before: readonly Guess[], after: readonly Guess[]): Compared[] {
  const count = Math.max(before.length, after.length);
  return Array.from({ length: count }, (_, index) => {
    const place = before[index]?.place ?? after[index]?.place ?? "";
    return compared(before[index] ?? { place, options: [] }, after[index] ?? { place, options: [] });
  });
}

/** How an answer fares in words, seen from the model with heads switched off. */
export function faring(row: Row, rank: number): "new" | "up" | "down" | "same" {
  if (row.otherRank === null) return "new";
  if (row.otherRank === rank) return "same";
  return row.otherRank > rank ? "up" : "down";
}

/** A probability in per cent, with the digits that small ones need. */
export function percent(probability: number): string {
  const value = 100 * probability;
  if (value >= 10) return `${value.toFixed(1)} %`;
  if (value >= 0.01 || value === 0) return `${value.toFixed(2)} %`;
  return "< 0.01 %";
}
