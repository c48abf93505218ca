import assert from "node:assert/strict";
import { test } from "node:test";
import { apartGroups, leftBars, shareBars } from "../../src/headpage/explanation";

const found = {
  words: ["Two neurons carry it."],
  counts: [1, 2],
  score_share: [0.4, 0.6],
  score_low: [0.2, null],
  score_high: [0.6, null],
  score_share_random: [0.1, 0.2],
  score_pattern: [0.3],
  score_pattern_random: [0.05],
  apart_what: ["[SEP] from other keys", "its own segment from the other"],
  apart_auc: [0.9, 0.5],
  apart_low: [0.8, 0.48],
  apart_high: [1, 0.52],
  neuron_what: ["[SEP] from other keys"],
  neuron_number: [27],
  neuron_auc: [0.99],
  neuron_low: [0.98],
  neuron_high: [1],
  replaced: ["token", "all"],
  left: [-0.1, 0],
  left_low: [-0.14, null],
  left_high: [-0.06, null],
};

test("shares of the best neurons beside as many at random", () => {
  const bars = shareBars(found, "score");
  assert.deepEqual(
    bars.map(({ label, value, mark }) => [label, value, mark]),
    [
      ["best neuron", 0.4, 0.1],
      ["best 2", 0.6, 0.2],
    ],
  );
  assert.deepEqual([bars[0]?.low, bars[0]?.high], [0.2, 0.6]);
  assert.equal(bars[1]?.low, null, "none is known");
  assert.deepEqual(
    shareBars(found, "pattern").map(({ value, mark }) => [value, mark]),
    [
      [0.3, 0.05],
      [null, null],
    ],
  );
});

test("neurons stand below the contrast that they tell", () => {
  const groups = apartGroups(found);
  assert.deepEqual(
    groups.map(({ bars }) => bars.map(({ label, value }) => [label, value])),
    [
      [
        ["whole score", 0.9],
        ["neuron 27", 0.99],
      ],
      [["whole score", 0.5]],
    ],
  );
  assert.ok(groups.every(({ bars }) => bars.every(({ mark }) => mark === 0.5)));
});

test("what is left, in words", () => {
  assert.deepEqual(
    leftBars(found).map(({ label, value }) => [label, value]),
    [
      ["without tokens", -0.1],
      ["without all of these", 0],
    ],
  );
  assert.deepEqual(leftBars({}), []);
});
