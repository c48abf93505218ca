/** Pieces and words: attention to a word is the sum over its pieces, from a word the mean over its pieces. */

import type { Seen, StackShape, Tokens } from "./api";

/** Which sentence may look at which: "ab" is from the first to the second. */
export const FILTERS = ["all", "aa", "ab", "ba", "bb"] as const;
export type Filter = (typeof FILTERS)[number];

/** Whether tokens are counted as the model reads them, or as words. */
export type Level = "piece" | "word";

/** The tokens along one side of a map, as pieces or as words. */
export interface Axis {
  readonly labels: string[];
  /** The first piece of each token, and at the end the number of pieces: token i is pieces starts[i]..starts[i+1]-1. */
  readonly starts: Int32Array;
  readonly segment: number[];
  readonly special: boolean[];
  /** Whether the model wrote the token. */
  readonly generated: boolean[];
  readonly length: number;
}

export function tokensOf(seen: Seen, side: "source" | "target"): Tokens {
  return side === "target" ? (seen.target ?? seen.source) : seen.source;
}

export function axisOf(tokens: Tokens, level: Level): Axis {
  const starts: number[] = [];
  for (let piece = 0; piece < tokens.pieces.length; piece++) {
    const word = tokens.word[piece] ?? -1;
    const goesOn = level === "word" && piece > 0 && word >= 0 && tokens.word[piece - 1] === word;
    if (!goesOn) starts.push(piece);
  }
  const label = (piece: number): string => {
    const word = tokens.word[piece] ?? -1;
    const text = level === "word" && word >= 0 ? tokens.words[word] : undefined;
    return text ?? tokens.pieces[piece] ?? "";
  };
  return {
    labels: starts.map(label),
    starts: Int32Array.from([...starts, tokens.pieces.length]),
    segment: starts.map((piece) => tokens.segment[piece] ?? -1),
    special: starts.map((piece) => tokens.special[piece] ?? false),
    generated: starts.map((piece) => tokens.generated?.[piece] ?? false),
    length: starts.length,
  };
}

/** The two axes of a stack's maps. */
export function axesOf(seen: Seen, stack: StackShape, level: Level): { queries: Axis; keys: Axis } {
  const keys = axisOf(tokensOf(seen, stack.keys), level);
  const queries = stack.queries === stack.keys ? keys : axisOf(tokensOf(seen, stack.queries), level);
  return { queries, keys };
}

/** (query, key) of pieces -> (query, key) of the axes' tokens. */
export function fold(weights: Float32Array, queries: Axis, keys: Axis): Float32Array {
  const pieces = keys.starts[keys.length]!;
  if (queries.length === queries.starts[queries.length] && keys.length === pieces) return weights;
  const folded = new Float32Array(queries.length * keys.length);
  for (let query = 0; query < queries.length; query++) {
    const from = queries.starts[query]!;
    const to = queries.starts[query + 1]!;
    for (let key = 0; key < keys.length; key++) {
      let sum = 0;
      for (let row = from; row < to; row++) {
        for (let column = keys.starts[key]!; column < keys.starts[key + 1]!; column++) {
          sum += weights[row * pieces + column]!;
        }
      }
      folded[query * keys.length + key] = sum / (to - from);
    }
  }
  return folded;
}

/** Which tokens look, and which are looked at, under a sentence filter. Special tokens are in no sentence. */
export function filtered(filter: Filter, queries: Axis, keys: Axis): { query: boolean[]; key: boolean[] } {
  const within = (axis: Axis, letter: string | undefined): boolean[] =>
    axis.segment.map((segment) => filter === "all" || segment === (letter === "a" ? 0 : 1));
  return { query: within(queries, filter[0]), key: within(keys, filter[1]) };
}

/** Whether sentence filters mean anything here: both sides are the same text, and it has two sentences. */
export function hasSentences(seen: Seen, stack: StackShape | undefined): boolean {
  return stack !== undefined && stack.queries === stack.keys && tokensOf(seen, stack.keys).segment.includes(1);
}

/** How far a shown weight may be from the true one. */
export function errorOf(seen: Seen, level: Level): number {
  return level === "word" ? (seen.word_error ?? seen.max_error) : seen.max_error;
}

/** The same in words; what is finer than any number shown is as good as that. */
export function errorWords(seen: Seen, level: Level): string {
  const error = errorOf(seen, level);
  return error < 0.0001 ? "0.0001" : error.toPrecision(2);
}

/** The token of the other level that holds the first piece of `token`. */
export function moved(token: number, from: Axis, to: Axis): number | null {
  const piece = from.starts[token];
  if (piece === undefined || token >= from.length) return null;
  let found = 0;
  while (found + 1 < to.length && to.starts[found + 1]! <= piece) found++;
  return found;
}

/** The first `most` characters (never half of one), with an ellipsis where something was left out. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = Array.from(text.slice(0, most * 2));
  return characters.length <= most && text.length <= most * 2 ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/** Signs that turn or hide what stands beside them, by their names in Unicode. */
const UNSEEN: Readonly<Record<string, string>> = {
  "\u00ad": "SHY",
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};
const NEEDS_A_SIGN = new RegExp(`[${Object.keys(UNSEEN).join("")}]`, "g");

/** A label that can be seen: line breaks and the like as signs, marks that turn the text by their names. */
export function visible(label: string): string {
  const shown = label
    .replace(/[\n\r]/g, "↵")
    .replaceAll("\t", "⇥")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    .replace(/[\u0000-\u001f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
    .replace(NEEDS_A_SIGN, (sign) => `‹${UNSEEN[sign]}›`);
  return shown.trim() === "" ? "␣".repeat(Math.max(1, Math.min(shown.length, 8))) : shown;
}

/** Which labels stand more than once on an axis, and need their position to be told apart. */
export function repeated(axis: Axis): boolean[] {
  const count = new Map<string, number>();
  for (const label of axis.labels) count.set(label, (count.get(label) ?? 0) + 1);
  return axis.labels.map((label) => count.get(label)! > 1);
}

/** The tokens whose text holds what is searched for. */
export function matches(axis: Axis, searched: string): boolean[] {
  const wanted = searched.trim().toLowerCase();
  return axis.labels.map((label) => wanted !== "" && label.toLowerCase().includes(wanted));
}

/** Which token of one axis stands for which of another, and back: the longest sequence of tokens that both have in this order. */
export function paired(one: Axis, other: Axis): { there: (number | null)[]; back: (number | null)[] } {
  const plain = ({ labels }: Axis): string[] => labels.map((label) => label.toLowerCase().replace(/^##(?=.)/, ""));
  const [from, to] = [plain(one), plain(other)];
  const wide = to.length + 1;
  // (rest of one, rest of other) how long a sequence they have in common
  const common = new Uint16Array((from.length + 1) * wide);
  for (let i = from.length - 1; i >= 0; i--)
    for (let j = to.length - 1; j >= 0; j--)
      common[i * wide + j] =
        from[i] === to[j]
          ? common[(i + 1) * wide + j + 1]! + 1
          : Math.max(common[(i + 1) * wide + j]!, common[i * wide + j + 1]!);
  const there = Array<number | null>(from.length).fill(null);
  const back = Array<number | null>(to.length).fill(null);
  let [i, j] = [0, 0];
  while (i < from.length && j < to.length) {
    if (from[i] === to[j]) {
      there[i] = j;
      back[j++] = i++;
    } else if (common[(i + 1) * wide + j]! >= common[i * wide + j + 1]!) i++;
    else j++;
  }
  return { there, back };
}
