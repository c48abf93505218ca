import assert from "node:assert/strict";
import { test } from "node:test";
import type { AblationEffect, TypicalSentence } from "../../src/data/api";
import { shareBar, splitFeatures } from "../../src/headpage/attention";
import { barRange, ticks } from "../../src/headpage/charts";
import { compareGroups } from "../../src/headpage/compare";
import { highlight } from "../../src/headpage/examples";
import { paleWords } from "../../src/headpage/knows";
import { habitOf, isSpecial, likenessWords, received, strongest } from "../../src/headpage/looks";

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

test("shares have 95 % intervals", () => {
  const bar = shareBar({ role: "commas", value: 0.5, stderr: 0.1, uniform: 0.2 });
  assert.deepEqual([bar.low, bar.high, bar.mark], [0.5 - 0.196, 0.5 + 0.196, 0.2]);
  assert.equal(shareBar({ role: "commas", value: 0.5, stderr: null, uniform: null }).low, null);
});

test("pale bars: corrected for all edits, or hopeless from the start", () => {
  const effect = (more: Partial<AblationEffect>): AblationEffect => ({
    ...{ metric: "F1", change: -1, low: -2, high: -0.5, data: "", unit: "", edit: "", higher_is_better: true },
    ...{ significant: false, edits: 96, corrected: true, possible: true },
    ...more,
  });
  assert.equal(paleWords([effect({})]), "Pale: not significant once all 96 edits are allowed for.");
  assert.match(paleWords([effect({ possible: false })]), /too few for any edit to be significant once all 96 edits/);
  assert.equal(paleWords([effect({ edits: null })]), "Pale: not significant once all edits are allowed for.");
  assert.equal(
    paleWords([effect({ edits: null, corrected: false })]),
    "Pale: not significant (p ≥ 0.05, not corrected).",
  );
  assert.equal(paleWords([effect({ significant: true })]), "");
  assert.equal(paleWords([effect({ significant: null })]), "");
});

const looking = (
  words: string[],
  looks_at: number[],
  weights: number[],
  keys: string[] | null = null,
): TypicalSentence => ({
  words,
  keys,
  looks_at,
  weights,
  likeness: 0.9,
});

test("what words get, from those that look at them most", () => {
  assert.deepEqual(received(looking(["a", "b", "c"], [1, 1, 0], [0.5, 0.25, 0.5])), [0.5, 0.75, 0]);
  assert.deepEqual(received(looking(["a", "b"], [9, -1], [0.5, 0.5])), [0, 0], "places that are not there");
  assert.deepEqual(received(looking(["a"], [1], [0.5], ["x", "y"])), [0, 0.5]);
});

test("the strongest links are not all to special tokens where there are others of weight", () => {
  const sentence = looking(
    ["[CLS]", "a", "b", "c", "d", "e", "[SEP]"],
    [6, 6, 6, 6, 1, 2, 6],
    [0.99, 0.98, 0.97, 0.96, 0.5, 0.1, 0.95],
  );
  const names = strongest(sentence, 4).map(({ from, to }) => `${sentence.words[from]}>${sentence.words[to]}`);
  assert.deepEqual(names, ["[CLS]>[SEP]", "a>[SEP]", "b>[SEP]", "d>a"], "e>b is too weak to stand for the head");
  const twice = looking(["the", "x", "the", "x"], [1, 1, 3, 3], [0.9, 0.8, 0.7, 0.6]);
  assert.equal(strongest(twice, 4).length, 2, "the same words once");
  assert.ok(
    isSpecial("[SEP]") && isSpecial("</s>") && isSpecial("<|endoftext|>") && !isSpecial("[a]") && !isSpecial("<"),
  );
});

test("habits in words", () => {
  assert.equal(
    habitOf(looking(["[CLS]", "a", "b", "c"], [0, 0, 1, 2], [1, 1, 1, 1])),
    "3 of 4 words look most at the word before",
  );
  assert.equal(habitOf(looking(["a", "b", "[SEP]"], [2, 2, 2], [1, 1, 1])), "3 of 3 words look most at [SEP]");
  assert.equal(habitOf(looking(["a", "b", "c", "d"], [2, 3, 0, 0], [1, 1, 1, 1])), "");
  assert.equal(
    habitOf(looking(["a", "b", "c", "d", "e"], [3, 0, 1, 0, 1], [1, 1, 1, 1, 1])),
    "",
    "two of five are not most",
  );
  assert.equal(
    habitOf(looking(["a", "b"], [0, 1], [1, 1], ["x", "y"])),
    "",
    "places in another text are no neighbours",
  );
  assert.match(habitOf(looking(["a", "b"], [0, 1], [0.1, 0.2])), /^spread out: .* 0\.20$/);
  assert.equal(likenessWords(0.97), "just what it usually does");
  assert.match(likenessWords(-1), /little/);
});
