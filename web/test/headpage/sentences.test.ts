import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight, received } from "../../src/headpage/sentences";

test("highlights", () => {
  assert.equal(highlight(0.5, 0.5), 1);
  assert.equal(highlight(0.125, 0.5), 0.5);
  assert.equal(highlight(0, 0), 0);
});

test("what words get, from those that look at them most", () => {
  const rest = { likeness: 0.9, special: [], strongest: [], said: "" };
  const own = { words: ["a", "b", "c"], looks_at: [1, 1, 0], weights: [0.5, 0.25, 0.5], ...rest };
  assert.deepEqual(received(own), [0.5, 0.75, 0]);
  assert.deepEqual(received({ words: ["a"], keys: ["x", "y"], looks_at: [1], weights: [0.5], ...rest }), [0, 0.5]);
});
