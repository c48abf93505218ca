import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, comparedAll, faring, percent } from "../../src/tryit/compare";

const guess = (place: string, ...options: [string, number][]) => ({
  place,
  options: options.map(([text, probability]) => ({ text, probability })),
});

test("predictions side by side", () => {
  const found = compared(
    guess("[MASK]", ["were", 0.6], ["lay", 0.2], ["sat", 0.1]),
    guess("[MASK]", ["was", 0.5], ["were", 0.3], ["sat", 0.1]),
  );
  assert.ok(found.changed);
  assert.deepEqual(
    found.after.map((row, rank) => [row.text, row.other, faring(row, rank)]),
    [
      ["was", null, "new"],
      ["were", 0.6, "down"],
      ["sat", 0.1, "same"],
    ],
  );
  assert.deepEqual(
    found.before.map((row) => row.other),
    [0.3, null, 0.1],
  );
  assert.equal(faring({ text: "", probability: 0, other: 0, otherRank: 4 }, 1), "up");
  assert.ok(!compared(guess("", ["a", 1]), guess("", ["a", 0.4])).changed);
});

test("a place that one side lacks", () => {
  const [first, second] = comparedAll([guess("a", ["x", 1]), guess("b", ["y", 1])], [guess("a", ["x", 1])]);
  assert.equal(first?.changed, false);
  assert.equal(second?.changed, true);
  assert.deepEqual(second?.after, []);
});

test("probabilities in per cent", () => {
  assert.deepEqual([0.6234, 0.0512, 0.00004, 0, 1].map(percent), ["62.3 %", "5.12 %", "< 0.01 %", "0.00 %", "100.0 %"]);
});
