import assert from "node:assert/strict";
import { test } from "node:test";
import { headColour, pixel, placed, rampOf } from "../src/colour";

// Printed by headscope.figures.colours: levels 0, 31, 32 and 63 of each ramp.
const PYTHON = {
  light: {
    share: ["#f4f7fb", "#7895ba", "#7592b8", "#003576"],
    amount: ["#f9f5f8", "#ac84a3", "#aa81a0", "#5c1551"],
    layer: ["#d8b66d", "#00918c", "#008e8e", "#4d2f77"],
    signed: ["#893b00", "#f6f1ef", "#eff2f6", "#003d7d"],
  },
  dark: {
    share: ["#22272e", "#708095", "#738399", "#ceebff"],
    amount: ["#2b2429", "#8d7788", "#917a8b", "#ffd9f8"],
    layer: ["#fdd990", "#42c2bc", "#3ec0be", "#8668b6"],
    signed: ["#ffc09c", "#2d2725", "#26292d", "#ceebff"],
  },
};

test("the ramps are those of the figures", () => {
  for (const [theme, ramps] of Object.entries(PYTHON)) {
    for (const [name, wanted] of Object.entries(ramps)) {
      const ramp = rampOf(name as "share", theme === "dark");
      assert.equal(ramp.length, 64);
      assert.deepEqual([0, 31, 32, 63].map((level) => ramp[level]), wanted, `${theme} ${name}`);
    }
  }
});

test("sixteen heads have sixteen colours", () => {
  for (const dark of [false, true]) {
    assert.equal(new Set(Array.from({ length: 16 }, (_, head) => headColour(head, dark))).size, 16);
    assert.equal(headColour(16, dark), headColour(0, dark));
  }
});

test("pixels are written as the screen stores them", () => {
  assert.equal(pixel("#010203"), 0xff030201);
  assert.equal(pixel("#ffffff"), 0xffffffff);
});

test("a lifted scale is the root", () => {
  assert.equal(placed(0.25, "root"), 0.5);
  assert.equal(placed(0.25, "linear"), 0.25);
  assert.equal(placed(-1, "root"), 0);
});
