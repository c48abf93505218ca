import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, gridWidth, inNetwork, layerName, moved, sideOf } from "../../src/parts/headgrid";

test("cells fill the room, and do not leave it", () => {
  const grid = { name: "encoder", layers: 12, heads: 8 };
  assert.deepEqual(cellOf(grid, 602, 726), { wide: 71, high: 58 });
  const { wide, high } = cellOf(grid, 366, 380);
  assert.ok(wide * 8 <= 338 && high * 12 <= 354 && high <= wide, `${wide} x ${high}`);
  assert.deepEqual(cellOf(grid, 2000, 400), { wide: 45, high: 31 }, "not much wider than high");
  assert.equal(cellOf({ name: "", layers: 48, heads: 64 }, 600, 400).wide, 9);
});

test("arrow keys in the grid stop at its edges", () => {
  const grid = { name: "encoder", layers: 2, heads: 3 };
  assert.equal(moved(0, "ArrowRight", grid), 1);
  assert.equal(moved(0, "ArrowDown", grid), 3);
  assert.equal(moved(5, "ArrowRight", grid), 5);
  assert.equal(moved(0, "ArrowUp", grid), 0);
  assert.equal(moved(null, "ArrowUp", grid), 0);
  assert.equal(moved(0, "x", grid), null);
  assert.ok(sideOf({ name: "", layers: 12, heads: 12 }, 366, 44) * 12 <= 340);
});

test("layers of a hybrid have the network's numbers beside their own, and room for them", () => {
  const grid = { name: "decoder", layers: 2, heads: 4 };
  const hybrid = { ...grid, module_layers: [1, 3] };
  assert.deepEqual([layerName(grid, 1), layerName(hybrid, 1)], ["1", "1 (3)"]);
  assert.deepEqual([inNetwork(grid, 1), inNetwork(hybrid, 1)], ["", " (layer 3 of the network)"]);
  const cell = { wide: 20, high: 20 };
  assert.ok(gridWidth(hybrid, cell) >= gridWidth(grid, cell) + 20);
  assert.ok(gridWidth(hybrid, cellOf(hybrid, 366, 380)) <= 366);
});
