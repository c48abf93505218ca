import assert from "node:assert/strict";
import { test } from "node:test";
import { arcBetween } from "../../src/headpage/arcs";

const at = (left: number, top: number) => ({ left, right: left + 20, top, bottom: top + 16 });

test("an arc above the line, which ends on the word that is looked at", () => {
  const { path, end, down } = arcBetween(at(0, 40), at(100, 40));
  assert.deepEqual(end, [110, 37]);
  assert.equal(down, true);
  const highest = Math.min(...[...path.matchAll(/ (-?[\d.]+)/g)].map(([, y]) => Number(y)));
  assert.ok(highest < 37 && highest > 37 - 30, path);
});

test("between lines a curve from the edges that face each other", () => {
  assert.deepEqual(arcBetween(at(0, 40), at(50, 90)), {
    path: "M10 56C10 71.5 60 71.5 60 87",
    end: [60, 87],
    down: true,
  });
  assert.equal(arcBetween(at(0, 90), at(50, 40)).down, false);
});
