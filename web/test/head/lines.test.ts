import assert from "node:assert/strict";
import { test } from "node:test";
import type { WeightGrid } from "../../src/data/weights";
import { linesOf, linksOf, opacity, reachOf, strongest, type Wanted } from "../../src/head/lines";

function gridOf(rows: number[][]): WeightGrid {
  return {
    queries: rows.length,
    keys: rows[0]!.length,
    signed: rows.flat().some((value) => value < 0),
    at: (query, key) => rows[query]![key]!,
  };
}

const ONE = gridOf([
  [0.5, 0.3, 0.2],
  [0, 0.9, 0.1],
  [0.05, 0.05, 0.9],
]);

const TWO = gridOf([
  [0.1, 0.1, 0.8],
  [1, 0, 0],
  [0.4, 0.6, 0],
]);

const ALL: Wanted = {
  threshold: 0,
  query: [true, true, true],
  key: [true, true, true],
  rows: { from: 0, to: 3 },
  only: null,
  limit: 100,
};

const written = (wanted: Partial<Wanted>, grids = [ONE, TWO]): string[] => {
  const lines = linesOf(grids, { ...ALL, ...wanted });
  return Array.from(
    { length: lines.count },
    (_, at) => `${lines.head[at]}:${lines.query[at]}>${lines.key[at]} ${lines.weight[at]!.toFixed(2)}`,
  );
};

test("every weight above nothing is a line, weak ones first", () => {
  const lines = written({});
  assert.equal(lines.length, 14);
  const weights = lines.map((line) => Number(line.split(" ")[1]));
  assert.deepEqual(
    weights,
    [...weights].sort((one, other) => one - other),
  );
  assert.equal(lines.at(-1), "1:1>0 1.00");
});

test("threshold, filter, one token", () => {
  assert.deepEqual(written({ threshold: 0.9 }), ["0:1>1 0.90", "0:2>2 0.90", "1:1>0 1.00"]);
  assert.deepEqual(written({ query: [true, false, false], key: [false, false, true] }), ["0:0>2 0.20", "1:0>2 0.80"]);
  assert.deepEqual(written({ only: { side: "query", index: 1 } }), ["0:1>2 0.10", "0:1>1 0.90", "1:1>0 1.00"]);
  assert.deepEqual(written({ only: { side: "key", index: 2 }, threshold: 0.15 }), [
    "0:0>2 0.20",
    "1:0>2 0.80",
    "0:2>2 0.90",
  ]);
});

test("a line has an end in sight", () => {
  assert.deepEqual(written({ rows: { from: 0, to: 1 }, threshold: 0.35 }), [
    "1:2>0 0.40",
    "0:0>0 0.50",
    "1:0>2 0.80",
    "1:1>0 1.00",
  ]);
});

test("the strongest when there are too many, and how many there were", () => {
  const lines = linesOf([ONE, TWO], { ...ALL, limit: 3 });
  assert.equal(lines.of, 14);
  assert.deepEqual(
    [...lines.weight].map((weight) => weight.toFixed(1)),
    ["0.9", "0.9", "1.0"],
  );
});

test("links of a token: mean over heads and the strongest head", () => {
  const links = linksOf([ONE, TWO], "query", 1, [true, true, true]);
  assert.deepEqual(
    links.map(({ key, mean, head, weight }) => [key, Number(mean.toFixed(3)), head, weight]),
    [
      [0, 0.5, 1, 1],
      [1, 0.45, 0, 0.9],
      [2, 0.05, 0, 0.1],
    ],
  );
  assert.deepEqual(
    linksOf([ONE], "key", 1, [true, false, true]).map(({ query, mean }) => [query, mean]),
    [
      [0, 0.3],
      [2, 0.05],
    ],
  );
});

test("the strongest links of all", () => {
  const links = strongest([ONE, TWO], ALL, 4);
  assert.deepEqual(
    links.map(({ head, query, key, weight }) => [head, query, key, weight]),
    [
      [1, 1, 0, 1],
      [0, 1, 1, 0.9],
      [0, 2, 2, 0.9],
      [1, 0, 2, 0.8],
    ],
  );
});

test("the strongest line that is shown is nearly opaque, however weak", () => {
  const reach = (...weight: number[]) => reachOf({ count: weight.length, weight: Float32Array.from(weight) });
  assert.equal(reach(0.3, 0.9), 1);
  assert.equal(reach(0.02, 0.1), 0.125);
  assert.equal(reach(0.1), reach(0.12));
  assert.equal(reach(), 1);
  for (const heads of [1, 8]) {
    assert.ok(opacity(0.1, reach(0.01, 0.1), heads) > 0.7);
    assert.ok(opacity(0.01, reach(0.01, 0.1), heads) > 0.07);
    assert.ok(opacity(0.01, reach(0.01, 1), heads) < 0.06);
    assert.equal(opacity(1, 1, heads), 1);
  }
});

test("changes are chosen by their size, whatever their sign", () => {
  const changes = gridOf([
    [-0.5, 0.3],
    [0.1, -0.2],
  ]);
  const wanted: Wanted = {
    ...{ threshold: 0.15, query: [true, true], key: [true, true] },
    ...{ rows: { from: 0, to: 2 }, only: null, limit: 100 },
  };
  const lines = linesOf([changes], wanted);
  assert.deepEqual(
    [...lines.weight].map((weight) => Number(weight.toFixed(2))),
    [-0.2, 0.3, -0.5],
  );
  assert.equal(reachOf(lines), 0.5);
  assert.deepEqual(
    strongest([changes], wanted, 2).map(({ weight }) => weight),
    [-0.5, 0.3],
  );
  assert.deepEqual(
    linksOf([changes], "query", 0, [true, true]).map(({ mean }) => mean),
    [-0.5, 0.3],
  );
});
