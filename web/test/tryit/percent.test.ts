import assert from "node:assert/strict";
import { test } from "node:test";
import { percent } from "../../src/tryit/percent";

test("probabilities in per cent", () => {
  assert.deepEqual([0.6234, 0.0512, 0.00004, 0, 1].map(percent), ["62.3 %", "5.12 %", "< 0.01 %", "0.00 %", "100.0 %"]);
});
