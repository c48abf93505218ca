import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answers,
  binOf,
  cellTexts,
  extent,
  grouped,
  headNamed,
  headRows,
  keeps,
  keptHeads,
  labelsOf,
  parsePick,
  printPick,
  spread,
} from "../../src/atlas/filter";
import { inkOn } from "../../src/parts/headgrid";
import { kinds, numbers } from "../fixtures";

test("extent: from 0, stretched, or as far to both sides", () => {
  assert.deepEqual(extent(numbers([0.2, null, 0.8])), [0, 0.8]);
  assert.deepEqual(extent(numbers([0.2, null, 0.8]), true), [0.2, 0.8]);
  assert.deepEqual(extent(numbers([-0.2, -0.1])), [-0.2, 0]);
  assert.deepEqual(extent(numbers([-1, 3], { diverging: true })), [-3, 3]);
  assert.deepEqual(extent(numbers([0, 0], { diverging: true })), [-1, 1]);
  assert.deepEqual(extent(numbers([null, NaN])), [0, 1]);
  assert.equal(spread(numbers([null])), null);
});

test("bins: both ends inside, no value no bin", () => {
  assert.equal(binOf(0, 0, 1, 64), 0);
  assert.equal(binOf(1, 0, 1, 64), 63);
  assert.equal(binOf(0.5, 0, 1, 64), 32);
  assert.equal(binOf(9, 0, 1, 64), 63);
  assert.equal(binOf(-9, 0, 1, 64), 0);
  assert.equal(binOf(null, 0, 1, 64), null);
  assert.equal(binOf(NaN, 0, 1, 64), null);
  assert.equal(binOf(2, 2, 2, 64), 31);
});

test("filters in links", () => {
  for (const text of ["above:0.5", "below:-0.1", "is:dense", "is:vertical: + diagonal"])
    assert.equal(printPick(parsePick(text)), text);
  for (const text of ["", "above:", "above:x", "over:1", "is:"]) assert.deepEqual(parsePick(text), { how: "none" });
});

test("filters keep the heads asked for, and those without a value only when nothing is asked", () => {
  const one = numbers([0.1, 0.5, null]);
  const keptBy = (text: string) => one.values.map((_, index) => keeps(parsePick(text), one, index));
  assert.deepEqual(keptBy(""), [true, true, true]);
  assert.deepEqual(keptBy("above:0.5"), [false, true, false]);
  assert.deepEqual(keptBy("below:0.1"), [true, false, false]);
  const kind = kinds([0, 1, null], ["dense", "local"]);
  assert.deepEqual(
    kind.values.map((_, index) => keeps(parsePick("is:local"), kind, index)),
    [false, true, false],
  );
});

test("search: heads, layers, labels of any category", () => {
  assert.ok(answers("", 0, 0, []));
  assert.ok(answers("3.2", 3, 2, []) && !answers("3.2", 3, 20, []));
  assert.ok(
    answers("3.", 3, 7, []) && answers("3.*", 3, 7, []) && answers("layer 3", 3, 7, []) && answers("head 7", 3, 7, []),
  );
  assert.ok(!answers("layer 1", 11, 0, []));
  assert.ok(answers("9.9, 3.2", 3, 2, []));
  assert.ok(answers("L3H2", 3, 2, []) && answers("layer 3 head 2", 3, 2, []) && !answers("L3H2", 3, 20, []));
  assert.ok(answers("DENS", 0, 0, ["dense"]) && !answers("local", 0, 0, ["dense"]));
  const all = [numbers([1, 2]), kinds([0, null], ["dense"])];
  assert.deepEqual([labelsOf(all, 0), labelsOf(all, 1)], [["dense"], []]);
  assert.deepEqual(keptHeads(all, all[0]!, 2, parsePick("above:1"), "dense"), [true, false]);
});

test("groups: in order, every word of the search must be there", () => {
  const all = [
    numbers([], { key: "a", group: "offset_attention", title: "Attention to the next token" }),
    numbers([], { key: "b", group: "entropy", title: "Entropy" }),
    numbers([], { key: "c", group: "offset_attention", title: "Attention to the previous token" }),
  ];
  assert.deepEqual(
    grouped(all, "").map(({ name, members }) => [name, members.map(({ key }) => key)]),
    [
      ["offset_attention", ["a", "c"]],
      ["entropy", ["b"]],
    ],
  );
  assert.deepEqual(
    grouped(all, "offset previous").map(({ members }) => members.map(({ key }) => key)),
    [["c"]],
  );
  assert.deepEqual(grouped(all, "nothing"), []);
});

test("what is written into cells", () => {
  assert.deepEqual(cellTexts(numbers([0.1234, null, -0.001, -2])), ["0.12", "", "0.00", "−2.00"]);
  assert.deepEqual(cellTexts(numbers([0.01, 0.0004])), ["0.010", "0.000"]);
  assert.deepEqual(cellTexts(kinds([0], ["dense"])), []);
  assert.equal(inkOn("#ffffff"), "#1b1f24");
  assert.equal(inkOn("#102030"), "#ffffff");
});

test("a head is named in several ways", () => {
  for (const text of ["7.4", "L7H4", " l7h4 ", "layer 7 head 4", "Layer 7, head 4"])
    assert.deepEqual(headNamed(text), { layer: 7, head: 4 });
  for (const text of ["", "7", "7.", "7.*", "layer 7", "seven", "7.4.1"]) assert.equal(headNamed(text), null);
});

test("the table of a stack has one row a head", () => {
  const rows = headRows({
    layers: 1,
    heads: 2,
    colourings: [
      numbers([1, null], { key: "entropy", stderr: [0.1, null] }),
      { ...kinds([1, 0], ["near", "dense"]), key: "head_type" },
    ],
  });
  assert.deepEqual(rows, [
    ["layer", "head", "entropy", "entropy_stderr", "head_type"],
    [0, 0, 1, 0.1, "dense"],
    [0, 1, null, null, "near"],
  ]);
});
