import assert from "node:assert/strict";
import { test } from "node:test";
import { masked } from "../../src/tryit/mask";

/** `|` is the cursor, or two of them the selection; the result has it where it goes. */
function after(marked: string): string {
  const start = marked.indexOf("|");
  const text = marked.replaceAll("|", "");
  const end = marked.includes("|", start + 1) ? marked.indexOf("|", start + 1) - 1 : start;
  const done = masked(text, start, end);
  return `${done.text.slice(0, done.cursor)}|${done.text.slice(done.cursor)}`;
}

test("a mask goes over the selection, over the word at the cursor, or to the cursor", () => {
  assert.equal(after("The |cat| sat."), "The [MASK]| sat.");
  assert.equal(after("The |cat |sat."), "The [MASK]| sat.");
  assert.equal(after("The |cat sat| down."), "The [MASK]| down.");
  assert.equal(after("The c|at sat."), "The [MASK]| sat.");
  assert.equal(after("The cat| sat."), "The [MASK]| sat.");
  assert.equal(after("The  |  sat."), "The  [MASK]|  sat.");
  assert.equal(after("|"), "[MASK]|");
  assert.equal(after("Ein Häus|chen."), "Ein [MASK]|.");
  assert.equal(after("don|'t go"), "[MASK]| go");
  assert.equal(after("a|b|c"), "a [MASK]| c");
});
