import assert from "node:assert/strict";
import { test } from "node:test";
import type { AblationEffect } from "../../src/data/api";
import { compareGroups, paleWords } from "../../src/headpage/results";

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
