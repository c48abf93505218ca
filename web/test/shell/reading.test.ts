import assert from "node:assert/strict";
import test from "node:test";
import type { ModelInfo } from "../../src/data/api";
import { REPEATED, typedIn } from "../../src/shell/reading";
import { parseState } from "../../src/shell/state";
import { SETTINGS } from "../../src/shell/views";

const model = (name: string, task: ModelInfo["task"]): ModelInfo => ({
  name,
  task,
  architecture: "",
  max_length: 512,
  pairs: task !== "lm",
});

test("a model that writes text begins with a text that repeats itself, for its induction heads", () => {
  const models = [model("demo", "mlm"), model("demo-lm", "lm")];
  const typed = (link: string) => typedIn(parseState(link, SETTINGS), models).a;
  assert.equal(typed("model=demo-lm"), REPEATED);
  assert.notEqual(typed("model=demo"), REPEATED);
  assert.equal(typed("model=demo-lm&a=Mine"), "Mine");
  const [first, again] = REPEATED.split(". Next summer ");
  assert.ok(first?.toLowerCase().startsWith(again ?? "?"));
});
