import assert from "node:assert/strict";
import { test } from "node:test";
import { inBox, placedIn } from "../../src/map/place";

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
