import assert from "node:assert/strict";
import { test } from "node:test";
import { along, axisOf, inBox, placedIn, ticksOf } from "../../src/map/place";

test("the map keeps proportions, and its brush works from any corner", () => {
  const places = placedIn(
    [
      [0, 0],
      [4, 0],
      [0, 2],
    ],
    132,
  );
  assert.deepEqual(places, [
    [16, 91],
    [116, 91],
    [16, 41],
  ]);
  assert.deepEqual(inBox(places, { from: [120, 95], to: [10, 80] }), [0, 1]);
  assert.deepEqual(placedIn([[1, 1]], 100), [[50, 50]]);
});

test("an axis has its values in order, and round numbers along it", () => {
  const axis = axisOf([2, null, 4], 500, false);
  assert.ok(along(axis, 2) > axis.from && along(axis, 4) < axis.to && along(axis, 2) < along(axis, 3));
  assert.ok(Number.isNaN(along(axis, null)));
  assert.deepEqual(ticksOf(axis), [2, 2.5, 3, 3.5, 4]);
  const upright = axisOf([0, 1], 500, true);
  assert.ok(along(upright, 1) < along(upright, 0), "up is more");
  assert.ok(Number.isFinite(along(axisOf([3, 3], 500, false), 3)), "one value only");
});
