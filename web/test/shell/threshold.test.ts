import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen, StackShape, Tokens } from "../../src/data/api";
import { faintest, opacity, reachOf } from "../../src/head/lines";
import { headView } from "../../src/head/view";
import { modelView } from "../../src/matrix/model";
import { matrixView } from "../../src/matrix/view";
import { leastDrawn } from "../../src/shell/choices";
import { DEFAULTS, parseState, printState } from "../../src/shell/state";

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
    assert.equal(parseState(said).threshold, threshold);
  }
});

test("the strongest line that is shown is nearly opaque, however weak", () => {
  const reach = (...weight: number[]) => reachOf({ count: weight.length, weight: Float32Array.from(weight) });
  assert.equal(reach(0.3, 0.9), 1);
  assert.equal(reach(0.02, 0.1), 0.125);
  assert.equal(reach(0.1), reach(0.12));
  assert.equal(reach(), 1);
  for (const heads of [1, 8]) {
    assert.ok(opacity(0.1, reach(0.01, 0.1), heads) > 0.7);
    assert.ok(opacity(0.01, reach(0.01, 0.1), heads) > 0.07);
    assert.ok(opacity(0.01, reach(0.01, 1), heads) < 0.06);
    assert.equal(opacity(1, 1, heads), 1);
  }
});
