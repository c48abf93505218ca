/** The arithmetic behind the neuron view: scores, softmax, and which neurons carry a score. */

import type { Neurons } from "../data/api";

/** The first key a query may look at, and the one after the last. */
export function visibleKeys(neurons: Neurons, query: number): [number, number] {
  return neurons.visible?.[query] ?? [0, neurons.keys.length];
}

/** The softmax of scores, with a sink that takes its share where there is one; -Infinity gets 0. */
export function softmax(scores: readonly number[], sink: number | null = null): number[] {
  let top = sink ?? -Infinity;
  for (const score of scores) if (score > top) top = score;
  if (!Number.isFinite(top)) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, sink === null ? 0 : Math.exp(sink - top));
  return powers.map((power) => power / total);
}

/** One product per neuron, scaled as in the score: their sum is the score before cap and bias. */
export function products(neurons: Neurons, query: number, key: number): Float64Array {
  const q = neurons.queries[query] ?? [];
  const k = neurons.keys[key] ?? [];
  const parts = new Float64Array(q.length);
  for (let neuron = 0; neuron < q.length; neuron++) parts[neuron] = neurons.scale * (q[neuron] ?? 0) * (k[neuron] ?? 0);
  return parts;
}

export interface QueryScores {
  /** (key) scale * q . k */
  dots: number[];
  /** (key) the same after cap and bias; -Infinity for keys that the query may not see. */
  scores: number[];
  /** (key) softmax of the scores. */
  weights: number[];
}

/** Scores and weights of one query over all keys. */
export function queryScores(neurons: Neurons, query: number): QueryScores {
  const q = neurons.queries[query] ?? [];
  const [first, end] = visibleKeys(neurons, query);
  const bias = neurons.bias?.[query];
  const cap = neurons.soft_cap ?? null;
  const dots = neurons.keys.map((k) => {
    let sum = 0;
    for (let neuron = 0; neuron < q.length; neuron++) sum += (q[neuron] ?? 0) * (k[neuron] ?? 0);
    return neurons.scale * sum;
  });
  const scores = dots.map((dot, key) => {
    if (key < first || key >= end) return -Infinity;
    return (cap === null ? dot : cap * Math.tanh(dot / cap)) + (bias?.[key] ?? 0);
  });
  return { dots, scores, weights: softmax(scores, neurons.sink ?? null) };
}

export interface Carrier {
  neuron: number;
  /** What this neuron adds to the score (of a pair), or to the lead of the attended keys over the average key (of a query). */
  part: number;
  /** Its size as a share of the sizes of all neurons. */
  share: number;
}

/** Neurons in order of the size of their part, largest first; equal sizes in the order of the neurons. */
export function ranked(parts: readonly number[]): Carrier[] {
  const total = parts.reduce((sum, part) => sum + Math.abs(part), 0);
  return parts
    .map((part, neuron) => ({ neuron, part, share: total > 0 ? Math.abs(part) / total : 0 }))
    .sort((a, b) => Math.abs(b.part) - Math.abs(a.part) || a.neuron - b.neuron);
}

/** Which neurons carry the score of one query for one key. */
export function carriersOfPair(neurons: Neurons, query: number, key: number): Carrier[] {
  return ranked([...products(neurons, query, key)]);
}

/**
 * Which neurons carry where a query looks.
 *
 * A constant added to all scores of a query changes nothing in its softmax, so a neuron counts by how much more it gives to the
 * keys that get the attention than to the average key: sum_j (weight_j / sum of weights - 1/n) * scale * q_m * k_jm over the n keys in sight.
 */
export function carriersOfQuery(neurons: Neurons, query: number, weights: readonly number[]): Carrier[] {
  const q = neurons.queries[query] ?? [];
  const [first, end] = visibleKeys(neurons, query);
  let given = 0;
  for (let key = first; key < end; key++) given += weights[key] ?? 0;
  const lead = new Float64Array(q.length);
  for (let key = first; key < end; key++) {
    const k = neurons.keys[key] ?? [];
    const factor = (given > 0 ? (weights[key] ?? 0) / given : 0) - 1 / (end - first);
    for (let neuron = 0; neuron < lead.length; neuron++) lead[neuron] = (lead[neuron] ?? 0) + factor * (k[neuron] ?? 0);
  }
  return ranked(q.map((value, neuron) => neurons.scale * value * (lead[neuron] ?? 0)));
}

/** The largest difference between the softmax shown and the weights of the map. */
export function largestGap(weights: readonly number[], mapped: ArrayLike<number>): number {
  let gap = 0;
  for (let key = 0; key < weights.length; key++)
    gap = Math.max(gap, Math.abs((weights[key] ?? 0) - (mapped[key] ?? 0)));
  return gap;
}

const LOOKED_AT = 8192;

/**
 * The size that gets the full colour: 99 % are no larger, so that one outlier does not pale all others.
 * Of very many values every n-th is looked at: a colour scale needs no more, and hovering must stay quick.
 */
export function strongest(rows: readonly ArrayLike<number>[]): number {
  const total = rows.reduce((sum, row) => sum + row.length, 0);
  const step = Math.max(1, Math.floor(total / LOOKED_AT));
  const sizes = new Float64Array(Math.ceil(total / step));
  let [count, next] = [0, 0];
  for (const row of rows) {
    for (; next < row.length; next += step) sizes[count++] = Math.abs(row[next] ?? 0);
    next -= row.length;
  }
  sizes.sort();
  return sizes[Math.min(count - 1, Math.floor(count * 0.99))] || sizes[count - 1] || 1;
}
