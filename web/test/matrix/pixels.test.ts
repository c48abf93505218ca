import assert from "node:assert/strict";
import { test } from "node:test";
import { pooled } from "../../src/matrix/pixels";

test("a small picture keeps the largest code of each block", () => {
  // 4 x 4 into 2 x 2
  const codes = Uint8Array.from([1, 2, 0, 0, 3, 0, 0, 9, 0, 0, 5, 0, 7, 0, 0, 0]);
  const yes = [true, true, true, true];
  assert.deepEqual([...pooled(codes, 4, 4, 2, 2, yes, yes)], [3, 9, 7, 5]);
  assert.deepEqual([...pooled(codes, 4, 4, 2, 2, [true, false, true, true], [true, true, true, false])], [2, 0, 7, 5]);
  assert.deepEqual([...pooled(codes, 4, 4, 4, 4, yes, yes)], [...codes]);
});
