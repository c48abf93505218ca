import assert from "node:assert/strict";
import { test } from "node:test";
import { coloursOf, lookAt, rampName } from "../../src/atlas/data";
import { described } from "../../src/atlas/frame";
import { colour, pick, selected } from "../../src/atlas/settings";
import { rampOf } from "../../src/parts/colour";
import { DEFAULTS } from "../../src/shell/state";
import { ATLAS, numbers } from "../fixtures";

test("colours: 0 of a diverging one is the middle, orange below, blue above", () => {
  const ramp = rampOf("signed", false);
  const colours = coloursOf(numbers([-2, 0, 2, null], { diverging: true }), false, false);
  assert.deepEqual(colours, [ramp[0], ramp[32], ramp[63], ""]);
  assert.equal(rampName(numbers([1])), "amount");
  assert.equal(rampName(numbers([1], { unit: "share of attention" })), "share");
});

test("a look at an atlas: colouring, selection and filter together", () => {
  const look = lookAt(
    ATLAS,
    {
      ...DEFAULTS,
      layer: 1,
      heads: [1],
      settings: { ...colour.to("k"), ...selected.to(["0.1", "1.0"]), ...pick.to({ how: "above", value: 3 }) },
    },
    false,
  );
  assert.equal(look?.colouring?.key, "k");
  assert.equal(lookAt(ATLAS, DEFAULTS, false)?.colouring?.key, "head_type");
  assert.deepEqual(look?.bright, [false, false, true, false]);
  assert.equal(look?.current, 3);
  assert.equal(lookAt(ATLAS, { ...DEFAULTS, layer: 9, heads: [1] }, false)?.current, null);
  assert.equal(lookAt(ATLAS, { ...DEFAULTS, settings: colour.to("head_type") }, false)?.colouring?.title, "Kind");
  assert.equal(lookAt({ ...ATLAS, stacks: [] }, DEFAULTS, false), null);
  assert.equal(described(look!, 2), "Head 1.0: 3.000 nats · local");
});

test("a head is open from the start: the one that the page's data names", () => {
  assert.equal(lookAt(ATLAS, DEFAULTS, false)?.current, 2);
  assert.equal(lookAt(ATLAS, { ...DEFAULTS, layer: 0, heads: [1] }, false)?.current, 1);
  const stacks = [{ ...ATLAS.stacks[0]!, colourings: [], first_colouring: null, first_head: null }];
  assert.equal(lookAt({ ...ATLAS, stacks }, DEFAULTS, false)?.current, null);
});

test("the search for heads is not the one for words", () => {
  assert.deepEqual(lookAt(ATLAS, { ...DEFAULTS, q: "the" }, false)?.bright, [true, true, true, true]);
  assert.deepEqual(lookAt(ATLAS, { ...DEFAULTS, hq: "local" }, false)?.bright, [false, false, true, false]);
});
