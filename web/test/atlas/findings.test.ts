import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, withMinus } from "../../src/atlas/findings";

test("heads that findings name", () => {
  const grid = { name: "encoder", layers: 12, heads: 8 };
  const named = (text: string) => partsOf(text, grid).flatMap(({ text, head }) => (head === null ? [] : [text]));
  assert.deepEqual(
    named("Head 2.6 gives 98.0% of its attention. 4 heads give it more than half: 2.6, 4.6, 9.2 and 2.7."),
    ["2.6", "2.6", "4.6", "9.2", "2.7"],
  );
  assert.deepEqual(named("Heads 0.3 and 8.1 are alike: 0.058 nats apart, 8.4% of it"), ["0.3", "8.1"]);
  assert.deepEqual(named("The most is lost with head 2.5: -0.5 points. Numbers: 0.5 and 0.7."), ["2.5"]);
  assert.deepEqual(named("head 99.1, and heads 3.20 do not exist"), []);
  const text = "By gradient, heads 2.5, 4.7 and 4.5: turning head 2.5 down";
  assert.equal(
    partsOf(text, grid)
      .map((part) => part.text)
      .join(""),
    text,
  );
  assert.equal(withMinus("-5.8 points (-0.1 to 0.2), well-known, 3-4"), "−5.8 points (−0.1 to 0.2), well-known, 3-4");
});
