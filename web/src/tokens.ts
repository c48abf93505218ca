/** Pieces and words: attention to a word is the sum over its pieces, from a word the mean over its pieces. */
import type { Seen, StackShape, Tokens } from "./api";
import type { Filter, State } from "./state";

/** The tokens along one side of a map, as pieces or as words. */
export interface Axis {
  readonly labels: string[];
  /** The first piece of each token, and at the end the number of pieces: token i is pieces starts[i]..starts[i+1]-1. */
  readonly starts: Int32Array;
  readonly segment: number[];
  readonly special: boolean[];
  readonly length: number;
}

export function tokensOf(seen: Seen, side: "source" | "target"): Tokens {
  return side === "target" ? (seen.target ?? seen.source) : seen.source;
}

export function axisOf(tokens: Tokens, level: State["level"]): Axis {
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
    length: starts.length,
  };
}

/** The two axes of a stack's maps. */
export function axesOf(seen: Seen, stack: StackShape, level: State["level"]): { queries: Axis; keys: Axis } {
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
  return characters.length <= most && text.length <= most * 2 ? text : characters.slice(0, most - 1).join("") + "…";
}

/** The tokens whose text holds what is searched for. */
export function matches(axis: Axis, searched: string): boolean[] {
  const wanted = searched.trim().toLowerCase();
  return axis.labels.map((label) => wanted !== "" && label.toLowerCase().includes(wanted));
}
