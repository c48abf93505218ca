import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen, Tokens } from "../../src/data/api";
import { beyond } from "../../src/shell/beyond";
import { within } from "../../src/shell/choices";
import { DEFAULTS } from "../../src/shell/state";

const TOKENS: Tokens = {
  pieces: ["[CLS]", "re", "##paint", "it", "[SEP]"],
  words: ["repaint", "it"],
  word: [-1, 0, 0, 1, -1],
  segment: [-1, 0, 0, 0, -1],
  special: [true, false, false, false, true],
};
const SEEN = {
  model: "demo",
  source: TOKENS,
  target: null,
  stacks: [{ name: "encoder", layers: 12, heads: 8, queries: "source", keys: "source", causal: false }],
} as unknown as Seen;
const said = (state: Partial<typeof DEFAULTS>) => beyond({ ...DEFAULTS, ...state }, SEEN);

test("what is there is passed over", () => {
  for (const state of [
    {},
    { stack: "encoder", layer: 11, heads: [0, 7], token: 4 },
    { token: 3, level: "word" as const },
  ]) {
    assert.deepEqual(said(state), [], JSON.stringify(state));
  }
});

test("what a link names and the text has not is said, with what there is", () => {
  assert.deepEqual(said({ stack: "cross", layer: 99, heads: [3, 99], token: 77 }), [
    "no cross (the encoder is shown)",
    "no layer 99 (there are 0 to 11)",
    "no head 99 (there are 0 to 7)",
    "no token 77 (there are 0 to 4)",
  ]);
  assert.deepEqual(said({ token: 4, level: "word" }), ["no word 4 (there are 0 to 3)"]);
});

test("views are given what there is", () => {
  const state = within({ ...DEFAULTS, stack: "cross", layer: 99, heads: [3, 99], token: 77 }, SEEN);
  assert.deepEqual([state.stack, state.layer, state.heads, state.token], ["encoder", 11, [3], null]);
  assert.equal(within({ ...DEFAULTS, token: 4 }, SEEN).token, 4);
});
