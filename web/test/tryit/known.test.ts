import assert from "node:assert/strict";
import { test } from "node:test";
import { gridsOf } from "../../src/tryit/known";

test("the grids of a model come from the text that it has read", () => {
  const model = { name: "m", architecture: "bert", task: "mlm", max_length: 512, pairs: true };
  const seen = { model: "m", stacks: [{ name: "encoder", layers: 1, heads: 1 }] };
  assert.deepEqual(gridsOf(model, null), []);
  assert.deepEqual(gridsOf(model, seen as never), seen.stacks);
  assert.deepEqual(gridsOf({ ...model, name: "other" }, seen as never), []);
});
