import assert from "node:assert/strict";
import { test } from "node:test";
import { withMinus } from "../../src/atlas/findings";

test("a minus is no hyphen", () => {
  assert.equal(withMinus("-5.8 points (-0.1 to 0.2), well-known, 3-4"), "−5.8 points (−0.1 to 0.2), well-known, 3-4");
});
