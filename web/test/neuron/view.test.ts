import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tokens } from "../../src/data/api";
import { axisOf } from "../../src/data/tokens";
import { firstQuery, heldPiece, holding, neuronView, notesOn, pieceOf } from "../../src/neuron/view";
import { changed, DEFAULTS, parseState, printState, type State } from "../../src/shell/state";
import { HEAD } from "../fixtures";

const SETTINGS = neuronView.settings!;

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
        state = changed(state, holding(piece, PIECES, axis), SETTINGS);
        assert.equal(heldPiece(state, axis), piece);
        const copy = parseState(printState(state), SETTINGS);
        assert.equal(heldPiece(copy, axis), piece);
      }
    }
    assert.equal(heldPiece({ ...state, token: null }, axis, 1), 1);
  });
}

test("a piece of another word than the one held is none", () => {
  const axis = axisOf(TOKENS, "word");
  assert.equal(heldPiece({ token: 2, settings: { "x-piece": "4" } }, axis), 4);
  for (const named of ["5", "1", "3.5", "x", "-1", "99"]) {
    assert.equal(heldPiece({ token: 2, settings: { "x-piece": named } }, axis), 2, named);
  }
  assert.equal(heldPiece({ token: 3, settings: { "x-piece": "4" } }, axis), 5);
  assert.equal(heldPiece({ token: 99, settings: { "x-piece": "4" } }, axis), 6);
});

test("the piece goes with its word", () => {
  const held = { ...DEFAULTS, level: "word" as const, token: 2, settings: { "x-piece": "4" } };
  assert.deepEqual(changed(held, { token: 3 }, SETTINGS).settings, {});
  assert.deepEqual(changed(held, { token: null }, SETTINGS).settings, {});
  assert.deepEqual(changed(held, { level: "piece" }, SETTINGS).settings, {});
  assert.deepEqual(changed(held, { layer: 3 }, SETTINGS).settings, held.settings);
});

test("notes say what a reader must know", () => {
  assert.deepEqual(notesOn(HEAD, false), []);
  assert.match(notesOn(HEAD, true)[0] ?? "", /after rotation/);
  assert.match(notesOn({ ...HEAD, bias: [[0]] }, false)[0] ?? "", /bias/);
  assert.match(notesOn({ ...HEAD, soft_cap: 50 }, false)[0] ?? "", /50/);
  assert.match(notesOn({ ...HEAD, sink: 0 }, false)[0] ?? "", /sink/);
  assert.deepEqual(notesOn({ ...HEAD, sink: 0, note: "Told." }, true), ["Told."]);
});

test("a token of the state as a piece", () => {
  const words = {
    labels: ["a", "bc", "d"],
    starts: Int32Array.from([0, 1, 3, 4]),
    segment: [0, 0, 0],
    special: [false, false, false],
    generated: [false, false, false],
    length: 3,
  };
  assert.equal(pieceOf(null, words), 0);
  assert.equal(pieceOf(null, words, 2), 2);
  assert.equal(pieceOf(2, words), 3);
  assert.equal(pieceOf(99, words), 3);
});

test("where one begins: a decoder at its last token, others at the first word", () => {
  const axis = (special: boolean[]) => ({
    labels: special.map(String),
    starts: Int32Array.from([...special.keys(), special.length]),
    segment: special.map(() => 0),
    special,
    generated: special.map(() => false),
    length: special.length,
  });
  assert.equal(firstQuery(axis([false, false, false]), true), 2);
  assert.equal(firstQuery(axis([true, false, false, true]), false), 1);
  assert.equal(firstQuery(axis([true, true]), false), 0);
  assert.equal(firstQuery(axis([]), true), 0);
});
