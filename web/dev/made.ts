/** What the fixtures are made of: sizes, numbers that are the same every time, and words, some of them odd. */

export interface FixtureOptions {
  layers: number;
  heads: number;
  tokens: number;
  width: number;
  causal: boolean;
  biased: boolean;
  rotated: boolean;
}

export const SMALL: FixtureOptions = {
  layers: 12,
  heads: 12,
  tokens: 26,
  width: 64,
  causal: false,
  biased: false,
  rotated: false,
};

/** Numbers that look random and are the same every time (mulberry32). */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** From a normal distribution. */
export function bell(next: () => number): number {
  return Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
}

export const ODD = ["<script>alert(1)</script>", "]]>", "🙂", "שלום", "w".repeat(1000)];
export const WORDS =
  "the keys to the old cabinet were on the table but nobody had seen them since the day when Anna left the house".split(
    " ",
  );
