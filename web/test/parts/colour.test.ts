import assert from "node:assert/strict";
import { test } from "node:test";
import { headColour, kindColour, pixel, placed, rampOf } from "../../src/parts/colour";

// Printed by headscope.figures.style.colours: levels 0, 31, 32 and 63 of each ramp.
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
      assert.deepEqual(
        [0, 31, 32, 63].map((level) => ramp[level]),
        wanted,
        `${theme} ${name}`,
      );
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

test("a root scale is the root", () => {
  assert.equal(placed(0.25, "root"), 0.5);
  assert.equal(placed(0.25, "max", 0.5), 0.5);
  assert.equal(placed(0.25, "linear"), 0.25);
  assert.equal(placed(-1, "root"), 0);
});

/** #rrggbb -> linear light. */
function linear(colour: string): number[] {
  return [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

function times(matrix: readonly (readonly number[])[], vector: readonly number[]): number[] {
  return matrix.map((row) => row.reduce((sum, value, at) => sum + value * vector[at]!, 0));
}

/** OKLab (Ottosson 2020). */
function lab(light: readonly number[]): number[] {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    light.map((value) => Math.min(1, Math.max(0, value))),
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones.map(Math.cbrt),
  );
}

/** What eyes without one kind of cone see (Machado et al. 2009), and what others do. */
const SIGHTS = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];

const COLOURINGS = [
  { name: "head of eight", colour: headColour, count: 8, apart: [0.19, 0.11, 0.11, 0.085], contrast: 3 },
  { name: "head of sixteen", colour: headColour, count: 16, apart: [0.08, 0.075, 0.075, 0.075], contrast: 3 },
  { name: "kind", colour: kindColour, count: 6, apart: [0.09, 0.09, 0.09, 0.09], contrast: 1.9 },
];
const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

for (const { name, colour, count, apart, contrast } of COLOURINGS) {
  test(`a ${name} has one hue, on a light page and on a dark one`, () => {
    for (const number of numbers(count)) {
      const [light, dark] = [false, true].map((theme) => lab(linear(colour(number, theme))));
      const hue = (seen: readonly number[]): number => (Math.atan2(seen[2]!, seen[1]!) * 180) / Math.PI;
      const turned = Math.abs(hue(light!) - hue(dark!));
      assert.ok(Math.min(turned, 360 - turned) < 17, `${name} ${number}: ${turned} degrees`);
    }
  });

  test(`${name}s are told apart by every kind of sight, and from the page`, () => {
    for (const dark of [false, true]) {
      const colours = numbers(count).map((number) => linear(colour(number, dark)));
      for (const [which, sight] of SIGHTS.entries()) {
        const seen = colours.map((one) => lab(times(sight, one)));
        for (const one of numbers(count)) {
          for (const other of numbers(one)) {
            const distance = Math.hypot(...seen[one]!.map((value, at) => value - seen[other]![at]!));
            assert.ok(distance > apart[which]!, `${dark ? "dark" : "light"}: ${other} and ${one}, ${distance}`);
          }
        }
      }
      const brightness = (light: readonly number[]): number =>
        0.2126 * light[0]! + 0.7152 * light[1]! + 0.0722 * light[2]! + 0.05;
      const page = brightness(linear(dark ? "#15181c" : "#ffffff"));
      for (const one of colours) {
        const ratio = page / brightness(one);
        assert.ok(Math.max(ratio, 1 / ratio) > contrast);
      }
    }
  });
}
