import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeadExample } from "../../src/data/api";
import { linksOf, received } from "../../src/headpage/sentences";

test("arcs run from the word that asks to what its head looks at, or the other way round", () => {
  const example: HeadExample = {
    ...{ text: "", words: ["a", "b", "c"], marks: [1, 2], weights: [0.1, 0.2, 0.7], note: "" },
    ...{ guess: 2, is_right: true },
  };
  assert.deepEqual(linksOf(example), [
    { from: 1, to: 0, weight: 0.1 },
    { from: 1, to: 2, weight: 0.7, verdict: "right" },
  ]);
  assert.deepEqual(linksOf({ ...example, is_looked_at: true, is_right: false }), [
    { from: 0, to: 1, weight: 0.1 },
    { from: 2, to: 1, weight: 0.7, verdict: "wrong" },
  ]);
  assert.deepEqual(linksOf({ ...example, marks: [] }), []);
});

test("what words get, from those that look at them most", () => {
  const rest = { likeness: 0.9, special: [], strongest: [], said: "" };
  const own = { words: ["a", "b", "c"], looks_at: [1, 1, 0], weights: [0.5, 0.25, 0.5], ...rest };
  assert.deepEqual(received(own), [0.5, 0.75, 0]);
  assert.deepEqual(received({ words: ["a"], keys: ["x", "y"], looks_at: [1], weights: [0.5], ...rest }), [0, 0.5]);
});
