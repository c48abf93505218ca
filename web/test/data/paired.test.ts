import assert from "node:assert/strict";
import { test } from "node:test";
import { type Axis, paired } from "../../src/data/tokens";

const axis = (text: string): Axis => ({ labels: text.split(" ") }) as Axis;

test("tokens that two texts have in the same order stand for each other", () => {
  const { there, back } = paired(axis("[CLS] the keys to the old box"), axis("[CLS] The keys to old ##box s"));
  assert.deepEqual(there, [0, 1, 2, 3, null, 4, 5]);
  assert.deepEqual(back, [0, 1, 2, 3, 5, 6, null]);
});

test("one text in two models is itself; two that share nothing have no tokens in common", () => {
  assert.deepEqual(paired(axis("a b a"), axis("a b a")).there, [0, 1, 2]);
  assert.deepEqual(paired(axis("a b"), axis("c")), { there: [null, null], back: [null] });
});
