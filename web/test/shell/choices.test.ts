import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen, StackShape, Tokens } from "../../src/data/api";
import { faintest } from "../../src/head/lines";
import { headView } from "../../src/head/view";
import { modelView } from "../../src/matrix/model";
import { matrixView } from "../../src/matrix/view";
import { leastDrawn, onlyOne, stepped, toggled, within } from "../../src/shell/choices";
import { DEFAULTS, parseState, printState } from "../../src/shell/state";

test("clicks on heads", () => {
  assert.deepEqual(toggled([], 1, 4), [0, 2, 3]);
  assert.deepEqual(toggled([0, 2, 3], 1, 4), []);
  assert.deepEqual(toggled([2], 0, 4), [0, 2]);
  assert.deepEqual(toggled([2], 2, 4), []);
  assert.deepEqual(onlyOne([], 2), [2]);
  assert.deepEqual(onlyOne([2], 2), []);
  assert.deepEqual(onlyOne([1, 2], 2), [2]);
});

test("where no head is named the sharpest is shown, but never the lines of a layer's heads in its place", () => {
  const stack = { name: "encoder", layers: 3, heads: 4, queries: "source", keys: "source", causal: false } as const;
  const source = { pieces: ["a"], words: [], word: [-1], segment: [0], special: [false] };
  const seen = { source, target: null, stacks: [stack], sharpest: { encoder: [2, 1] } } as unknown as Seen;
  const shown = (state: object) => {
    const { stack, layer, heads } = within({ ...DEFAULTS, ...state }, seen);
    return [stack, layer, heads];
  };
  assert.deepEqual(shown({}), ["encoder", 2, [1]]);
  assert.deepEqual(shown({ view: "matrix" }), ["encoder", 2, [1]]);
  assert.deepEqual(shown({ view: "matrix", heads: [0] }), ["encoder", 0, [0]]);
  assert.deepEqual(shown({ view: "matrix", layer: 1 }), ["encoder", 1, []]);
  assert.deepEqual(shown({ view: "head" }), ["encoder", 0, []]);
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

const tokens = (count: number) => ({ pieces: Array<string>(count).fill("a") }) as Tokens;

const SEEN = { source: tokens(512), target: tokens(20) } as Seen;

const OWN = { keys: "source" } as StackShape;

test("a matrix shows every weight, lines fall with the length of the text", () => {
  for (const view of [matrixView, modelView]) assert.equal(leastDrawn(view, { ...DEFAULTS }, SEEN, OWN), 0);
  assert.equal(leastDrawn(headView, { ...DEFAULTS }, SEEN, OWN), 1 / 512);
  assert.equal(leastDrawn(headView, { ...DEFAULTS }, SEEN, { ...OWN, keys: "target" }), 0.01);
  assert.equal(faintest(1), 0.01);
});

test("what the reader chose counts in every view, nothing included", () => {
  for (const threshold of [0, 0.25]) {
    for (const view of [headView, matrixView, modelView]) {
      assert.equal(leastDrawn(view, { ...DEFAULTS, threshold }, SEEN, OWN), threshold);
    }
    const said = printState({ ...DEFAULTS, threshold });
    assert.equal(said, `threshold=${threshold}`);
    assert.equal(parseState(said, []).threshold, threshold);
  }
});
