import assert from "node:assert/strict";
import { test } from "node:test";
import { toggledHead } from "../../src/atlas/frame";

test("a head is added to the selection, or taken out of it", () => {
  assert.deepEqual(toggledHead(["0.1"], "1.0"), ["0.1", "1.0"]);
  assert.deepEqual(toggledHead(["0.1", "1.0"], "0.1"), ["1.0"]);
});
