import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen } from "../../src/data/api";
import { besideChange, besideIn, besideState, PAIR_SETTINGS } from "../../src/shell/pair";
import { changed, DEFAULTS } from "../../src/shell/state";

const stack = { name: "encoder", layers: 2, heads: 3, queries: "source", keys: "source", causal: false } as const;
const seen = (segment: number[]): Seen => {
  const [pieces, special] = [segment.map(() => "a"), segment.map(() => false)];
  const source = { pieces, words: [], word: segment.map(() => -1), segment, special };
  return { source, target: null, stacks: [stack] } as unknown as Seen;
};

test("a second text is in the address, and goes again", () => {
  assert.equal(besideState(DEFAULTS), null);
  const two = changed(
    { ...DEFAULTS, model: "demo", a: "One." },
    besideChange({ model: "gpt2", a: "Two." }),
    PAIR_SETTINGS,
  );
  assert.deepEqual(two.settings, { beside: "gpt2", "beside-a": "Two." });
  const { model, a, b } = besideState(two)!;
  assert.deepEqual([model, a, b, two.model, two.a], ["gpt2", "Two.", "", "demo", "One."]);
  assert.deepEqual(changed(two, besideChange(null), PAIR_SETTINGS).settings, {});
});

test("the second text shows the same head, as far as it has it, and filters only sentences that it has", () => {
  const state = { ...DEFAULTS, view: "matrix", layer: 7, heads: [2], filter: "ab" } as const;
  const asked = { ...state, heads: [2] };
  assert.deepEqual([besideIn(asked, seen([0, 1])).filter, besideIn(asked, seen([0, 0])).filter], ["ab", "all"]);
  const { layer, heads } = besideIn(asked, seen([0]));
  assert.deepEqual([layer, heads], [1, [2]]);
});
