import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tokens } from "../../src/data/api";
import { axisOf } from "../../src/data/tokens";
import { heldPiece, holding } from "../../src/neuron/view";
import { changed, DEFAULTS, parseState, printState, type State } from "../../src/shell/state";

// the un ##believ ##able cabinet
const TOKENS: Tokens = {
  pieces: ["[CLS]", "the", "un", "##believ", "##able", "cabinet", "[SEP]"],
  words: ["the", "unbelievable", "cabinet"],
  word: [-1, 0, 1, 1, 1, 2, -1],
  segment: [-1, 0, 0, 0, 0, 0, -1],
  special: [true, false, false, false, false, false, true],
};
const PIECES = axisOf(TOKENS, "piece");

for (const level of ["piece", "word"] as const) {
  test(`every piece can be held, and is in the link, where the state counts ${level}s`, () => {
    const axis = axisOf(TOKENS, level);
    let state: State = { ...DEFAULTS, level };
    for (const direction of [1, -1]) {
      const order = PIECES.labels.map((_, piece) => piece);
      for (const piece of direction === 1 ? order : order.reverse()) {
        state = changed(state, holding(piece, state, PIECES, axis));
        assert.equal(heldPiece(state, axis), piece);
        const copy = parseState(printState(state));
        assert.equal(heldPiece(copy, axis), piece);
      }
    }
    assert.equal(heldPiece({ ...state, token: null }, axis, 1), 1);
  });
}

test("a piece of another word than the one held is none", () => {
  const axis = axisOf(TOKENS, "word");
  assert.equal(heldPiece({ token: 2, extra: { "x-piece": "4" } }, axis), 4);
  for (const named of ["5", "1", "3.5", "x", "-1", "99"]) {
    assert.equal(heldPiece({ token: 2, extra: { "x-piece": named } }, axis), 2, named);
  }
  assert.equal(heldPiece({ token: 3, extra: { "x-piece": "4" } }, axis), 5);
  assert.equal(heldPiece({ token: 99, extra: { "x-piece": "4" } }, axis), 6);
});

test("the piece goes with its word", () => {
  const held = { ...DEFAULTS, level: "word" as const, token: 2, extra: { "x-piece": "4" } };
  assert.deepEqual(changed(held, { token: 3 }).extra, {});
  assert.deepEqual(changed(held, { token: null }).extra, {});
  assert.deepEqual(changed(held, { level: "piece" }).extra, {});
  assert.deepEqual(changed(held, { layer: 3 }).extra, held.extra);
});
