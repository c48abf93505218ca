import assert from "node:assert/strict";
import { test } from "node:test";
import { bestRelations, compareGroups, highlight, splitFeatures } from "../src/views/headpage";
import { barRange, ticks } from "../src/views/headpagecharts";

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

test("windows of distance apart from the rest", () => {
  const feature = (name: string) => ({ feature: name, value: 0, uniform: null });
  const { windows, others } = splitFeatures([
    feature("sep"),
    feature("w00"),
    feature("6.25 to 12.5% of the text away"),
    feature("self"),
  ]);
  assert.deepEqual(
    windows.map((one) => one.feature),
    ["w00", "6.25 to 12.5% of the text away"],
  );
  assert.deepEqual(
    others.map((one) => one.feature),
    ["sep", "self"],
  );
});

test("best relations by their lead over the simple rule", () => {
  const one = (relation: string, accuracy: number | null, baseline: number) => ({
    relation,
    accuracy,
    low: null,
    high: null,
    baseline,
    baseline_name: "",
    probe: "",
    direction: "",
    what: "",
    cases: null,
  });
  const best = bestRelations([one("a", 0.9, 0.85), one("b", 0.5, 0.1), one("c", null, 0)], 2);
  assert.deepEqual(
    best.map(({ relation }) => relation),
    ["b", "a"],
  );
});

test("highlights", () => {
  assert.equal(highlight(0.5, 0.5), 1);
  assert.equal(highlight(0.125, 0.5), 0.5);
  assert.equal(highlight(0, 0), 0);
});

test("comparisons by the other model: words, likeness, changes", () => {
  const one = (what: string, value: number | null, other = "b") => ({ what, value, low: null, high: null, other });
  const groups = compareGroups([
    one("Likeness", 0.9),
    one("kind: stayed near", null),
    one("Change from b: attention to the next word", 0.03),
    one("Likeness", 0.5, "c"),
  ]);
  assert.deepEqual(
    groups.map(({ other }) => other),
    ["b", "c"],
  );
  assert.deepEqual(groups[0]?.told, ["kind: stayed near"]);
  assert.deepEqual(
    groups[0]?.alike.map(({ label }) => label),
    ["Likeness"],
  );
  assert.deepEqual(
    groups[0]?.changed.map(({ label, value }) => [label, value]),
    [["attention to the next word", 0.03]],
  );
});
