import assert from "node:assert/strict";
import { test } from "node:test";
import { labelled } from "../../src/matrix/draw";
import { cellAt, kept, parseBox, printBox, whole, zoomed } from "../../src/matrix/place";

const ROOM = { width: 800, height: 600, queries: 100, keys: 100 };

test("all of it is in sight, in cells as large as there is room for", () => {
  assert.deepEqual(whole(ROOM), { x: 0, y: 0, cell: 6 });
  assert.equal(whole({ ...ROOM, queries: 15, keys: 15 }).cell, 40);
  assert.equal(whole({ ...ROOM, queries: 2, keys: 2 }).cell, 60);
});

test("a place is the same in words and back, to a tenth of a pixel", () => {
  const near = zoomed(zoomed(whole(ROOM), 1.4, 300, 200, ROOM), 1.4, 500, 100, ROOM);
  const back = parseBox(printBox(near, ROOM), ROOM);
  for (const part of ["x", "y", "cell"] as const) assert.ok(Math.abs(back[part] - near[part]) < 0.1, part);
  assert.equal(printBox(whole(ROOM), ROOM), "");
  assert.equal(printBox({ x: -120, y: -60, cell: 12 }, ROOM), "5,10,2");
});

test("in another window the same tokens are at the corner", () => {
  const place = parseBox("5,10,2", { ...ROOM, width: 400, height: 300 });
  assert.deepEqual(place, { x: -60, y: -30, cell: 6 });
});

test("words that mean no place show all of it", () => {
  for (const said of ["", "x", "1,2", "1,2,3,4", "1,,3", "1,2,Infinity", "NaN,1,2"]) {
    assert.deepEqual(parseBox(said, ROOM), whole(ROOM), said);
  }
  assert.deepEqual(parseBox("-9,999,4", ROOM), { cell: 24, x: -1600, y: 0 }); // as far as there is something
});

test("labels: all where there is room, else those that are marked, special ones, and some of the others", () => {
  const places = { first: 0, last: 20, start: 0 };
  assert.equal(labelled({ ...places, cell: 12 }, [-1, -1], () => false).length, 20);
  const few = labelled({ ...places, cell: 6 }, [4, -1], (index) => index === 19 || index === 0);
  assert.deepEqual(few, [0, 4, 9, 12, 15, 19]);
});

const SMALL = { width: 200, height: 100, queries: 10, keys: 10 };

test("a matrix fits its room, and zooming keeps the point under the pointer", () => {
  assert.deepEqual(whole(SMALL), { x: 0, y: 0, cell: 10 });
  const nearer = zoomed(whole(SMALL), 2, 50, 50, SMALL);
  assert.deepEqual(nearer, { x: 0, y: -50, cell: 20 }); // 10 x 20 is as wide as the room, so it cannot move across
  assert.deepEqual(zoomed(nearer, 0.01, 0, 0, SMALL), whole(SMALL));
  const near = zoomed(whole(SMALL), 4, 50, 50, SMALL);
  assert.deepEqual(cellAt(near, 50, 50, SMALL), { query: 5, key: 5 });
  assert.equal(kept({ x: -9999, y: 50, cell: 40 }, SMALL).x, -200);
  assert.equal(kept({ x: -9999, y: 50, cell: 40 }, SMALL).y, 0);
});

test("cells beside the matrix are none", () => {
  assert.equal(cellAt(whole(SMALL), 101, 50, SMALL), null);
  assert.equal(cellAt(whole(SMALL), -1, 50, SMALL), null);
  assert.deepEqual(cellAt(whole(SMALL), 99, 0, SMALL), { query: 0, key: 9 });
});
