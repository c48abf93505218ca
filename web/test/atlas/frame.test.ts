import assert from "node:assert/strict";
import { test } from "node:test";
import { toggledHead, withExtra } from "../../src/atlas/frame";
import { DEFAULTS } from "../../src/shell/state";

test("selection and what views keep", () => {
  assert.deepEqual(toggledHead(["0.1"], "1.0"), ["0.1", "1.0"]);
  assert.deepEqual(toggledHead(["0.1", "1.0"], "0.1"), ["1.0"]);
  assert.deepEqual(withExtra({ ...DEFAULTS, extra: { "x-a": "1" } }, "x-b", "2"), {
    extra: { "x-a": "1", "x-b": "2" },
  });
  assert.deepEqual(withExtra({ ...DEFAULTS, extra: { "x-a": "1" } }, "x-a", ""), { extra: {} });
});
