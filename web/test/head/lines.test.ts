import assert from "node:assert/strict";
import { test } from "node:test";
import { type Grid, linesOf, linksOf, strongest, type Wanted } from "../../src/head/lines";
import { pooled } from "../../src/matrix/pixels";
import { cellAt, kept, whole, zoomed } from "../../src/matrix/place";
import { onlyOne, stepped, toggled } from "../../src/shell/choices";
import { DEFAULTS } from "../../src/shell/state";

function gridOf(rows: number[][]): Grid {
  return { queries: rows.length, keys: rows[0]!.length, at: (query, key) => rows[query]![key]! };
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

test("clicks on heads", () => {
  assert.deepEqual(toggled([], 1, 4), [0, 2, 3]);
  assert.deepEqual(toggled([0, 2, 3], 1, 4), []);
  assert.deepEqual(toggled([2], 0, 4), [0, 2]);
  assert.deepEqual(toggled([2], 2, 4), []);
  assert.deepEqual(onlyOne([], 2), [2]);
  assert.deepEqual(onlyOne([2], 2), []);
  assert.deepEqual(onlyOne([1, 2], 2), [2]);
});

test("arrow keys stay inside the stack", () => {
  const stack = { name: "encoder", layers: 2, heads: 3, queries: "source", keys: "source", causal: false } as const;
  const state = { ...DEFAULTS, layer: 1, heads: [2] };
  assert.deepEqual(stepped(state, stack, "ArrowDown"), { layer: 1 });
  assert.deepEqual(stepped(state, stack, "ArrowUp"), { layer: 0 });
  assert.deepEqual(stepped(state, stack, "ArrowRight"), { heads: [0] });
  assert.deepEqual(stepped({ ...state, heads: [] }, stack, "ArrowRight"), { heads: [0] });
  assert.deepEqual(stepped({ ...state, heads: [] }, stack, "ArrowLeft"), { heads: [2] });
  assert.equal(stepped(state, stack, "x"), null);
});

const ROOM = { width: 200, height: 100, queries: 10, keys: 10 };

test("a matrix fits its room, and zooming keeps the point under the pointer", () => {
  assert.deepEqual(whole(ROOM), { x: 0, y: 0, cell: 10 });
  const nearer = zoomed(whole(ROOM), 2, 50, 50, ROOM);
  assert.deepEqual(nearer, { x: 0, y: -50, cell: 20 }); // 10 x 20 is as wide as the room, so it cannot move across
  assert.deepEqual(zoomed(nearer, 0.01, 0, 0, ROOM), whole(ROOM));
  const near = zoomed(whole(ROOM), 4, 50, 50, ROOM);
  assert.deepEqual(cellAt(near, 50, 50, ROOM), { query: 5, key: 5 });
  assert.equal(kept({ x: -9999, y: 50, cell: 40 }, ROOM).x, -200);
  assert.equal(kept({ x: -9999, y: 50, cell: 40 }, ROOM).y, 0);
});

test("cells beside the matrix are none", () => {
  assert.equal(cellAt(whole(ROOM), 101, 50, ROOM), null);
  assert.equal(cellAt(whole(ROOM), -1, 50, ROOM), null);
  assert.deepEqual(cellAt(whole(ROOM), 99, 0, ROOM), { query: 0, key: 9 });
});

test("a small picture keeps the largest code of each block", () => {
  // 4 x 4 into 2 x 2
  const codes = Uint8Array.from([1, 2, 0, 0, 3, 0, 0, 9, 0, 0, 5, 0, 7, 0, 0, 0]);
  const yes = [true, true, true, true];
  assert.deepEqual([...pooled(codes, 4, 4, 2, 2, yes, yes)], [3, 9, 7, 5]);
  assert.deepEqual([...pooled(codes, 4, 4, 2, 2, [true, false, true, true], [true, true, true, false])], [2, 0, 7, 5]);
  assert.deepEqual([...pooled(codes, 4, 4, 4, 4, yes, yes)], [...codes]);
});
