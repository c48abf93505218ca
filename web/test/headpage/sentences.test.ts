import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "../../src/headpage/sentences";

test("highlights", () => {
  assert.equal(highlight(0.5, 0.5), 1);
  assert.equal(highlight(0.125, 0.5), 0.5);
  assert.equal(highlight(0, 0), 0);
});
