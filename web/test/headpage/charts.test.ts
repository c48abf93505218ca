import assert from "node:assert/strict";
import { test } from "node:test";
import { barRange, ticks } from "../../src/headpage/charts";

test("the stretch of bars holds 0 and all that is drawn", () => {
  assert.deepEqual(barRange([{ label: "", value: 0.2, low: -0.1, high: 0.5, mark: 0.7 }]), [-0.1, 0.7]);
  assert.deepEqual(barRange([{ label: "", value: 0.2 }]), [0, 0.2]);
  assert.deepEqual(barRange([{ label: "", value: null }]), [0, 1]);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1, 4), [0, 0.5, 1]);
  assert.deepEqual(ticks(-8, 8, 8), [-8, -6, -4, -2, 0, 2, 4, 6, 8]);
  assert.deepEqual(ticks(2, 2, 4), [2]);
});
