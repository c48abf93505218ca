import assert from "node:assert/strict";
import { test } from "node:test";
import { carried } from "../../src/neuron/ranking";
import {
  carriersOfPair,
  carriersOfQuery,
  largestGap,
  queryScores,
  ranked,
  softmax,
  strongest,
  visibleKeys,
} from "../../src/neuron/score";
import { HEAD } from "../fixtures";

const near = (found: number | undefined, wanted: number, by = 1e-12) =>
  assert.ok(Math.abs((found ?? NaN) - wanted) <= by, `${found} is not ${wanted}`);

test("softmax: by hand, large scores, hidden keys, nothing to see", () => {
  const [first, second] = softmax([Math.log(3), 0]);
  near(first, 0.75);
  near(second, 0.25);
  assert.deepEqual(softmax([1000, 1000]), [0.5, 0.5]);
  assert.deepEqual(softmax([5, -Infinity]), [1, 0]);
  assert.deepEqual(softmax([-Infinity, -Infinity]), [0, 0]);
  assert.deepEqual(softmax([]), []);
});

test("softmax: a sink takes its share", () => {
  const weights = softmax([0, Math.log(2)], 0);
  near(weights[0], 0.25);
  near(weights[1], 0.5);
  near(softmax([0], 1000)[0], 0);
});

test("scores: scaled products, by hand", () => {
  const { dots, scores, weights } = queryScores(HEAD, 0); // q.k = 4, 4, 0
  assert.deepEqual(dots, [2, 2, 0]);
  assert.deepEqual(scores, [2, 2, 0]);
  const total = 2 * Math.exp(2) + 1;
  near(weights[0], Math.exp(2) / total);
  near(weights[2], 1 / total);
});

test("scores: the cap comes before the bias, hidden keys get nothing", () => {
  const head = {
    ...HEAD,
    bias: [
      [1, 0, 5],
      [0, 0, 0],
    ],
    soft_cap: 2,
    visible: [
      [0, 2],
      [1, 3],
    ] as [number, number][],
  };
  const { dots, scores, weights } = queryScores(head, 0);
  assert.deepEqual(dots, [2, 2, 0]);
  near(scores[0], 2 * Math.tanh(1) + 1);
  near(scores[1], 2 * Math.tanh(1));
  assert.equal(scores[2], -Infinity);
  near(weights[0], Math.E / (Math.E + 1));
  assert.equal(weights[2], 0);
  assert.deepEqual(visibleKeys(head, 1), [1, 3]);
  assert.deepEqual(visibleKeys(HEAD, 1), [0, 3]);
});

test("ranking: by size, ties in the order of the neurons, shares add up to 1", () => {
  const order = ranked([1, -3, 1, 0]);
  assert.deepEqual(
    order.map(({ neuron }) => neuron),
    [1, 0, 2, 3],
  );
  near(order[0]?.share, 0.6);
  near(
    order.reduce((sum, { share }) => sum + share, 0),
    1,
  );
  assert.deepEqual(
    ranked([0, 0]).map(({ share }) => share),
    [0, 0],
  );
  near(carried(order, 2), 0.8);
});

test("ranking of a pair: the parts add up to the scaled score", () => {
  const order = carriersOfPair(HEAD, 0, 1); // 0.5 * (1 * -2, 2 * 3)
  assert.deepEqual(
    order.map(({ neuron, part }) => [neuron, part]),
    [
      [1, 3],
      [0, -1],
    ],
  );
});

test("ranking of a query: what the attended keys get beyond the average key", () => {
  const order = carriersOfQuery(HEAD, 0, [1, 0, 0]); // key 0 less the mean key (0, 4/3): (2, -1/3)
  near(order.find(({ neuron }) => neuron === 0)?.part, 0.5 * 1 * 2);
  near(order.find(({ neuron }) => neuron === 1)?.part, 0.5 * 2 * (-1 / 3));
});

test("ranking of a query: a constant for all keys carries nothing, hidden keys do not count", () => {
  const same = {
    ...HEAD,
    keys: [
      [2, 7],
      [-2, 7],
      [0, 7],
    ],
  };
  near(carriersOfQuery(same, 0, [0.7, 0.2, 0.1]).find(({ neuron }) => neuron === 1)?.part, 0);
  const hidden = {
    ...HEAD,
    visible: [
      [0, 1],
      [0, 2],
    ] as [number, number][],
  };
  assert.deepEqual(
    carriersOfQuery(hidden, 0, [1, 0, 0]).map(({ part }) => Math.abs(part)),
    [0, 0],
  ); // one key in sight: nothing to choose
});

test("the largest gap between softmax and map", () => {
  near(largestGap([0.5, 0.5], [0.5, 0.4]), 0.1);
  assert.equal(largestGap([], []), 0);
});

test("full colour: outliers do not pale the rest", () => {
  const many = [...Array.from({ length: 200 }, () => 1), 1000];
  assert.equal(strongest([many]), 1);
  assert.equal(strongest([[0, 0]]), 1);
  assert.equal(strongest([]), 1);
  assert.equal(strongest([[-3, 1]]), 3);
  const large = Array.from({ length: 700 }, () => Array.from({ length: 65 }, () => 2));
  assert.equal(strongest(large), 2);
});
