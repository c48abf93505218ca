import assert from "node:assert/strict";
import test from "node:test";
import { asJsonLines, linesOf, withArrow, wordPairs } from "../../src/find/arrows";

const TEXT = {
  text: "She read it.",
  words: ["She", "read", "it", "."],
  spans: [
    [0, 3],
    [4, 8],
    [9, 11],
    [11, 12],
  ] as [number, number][],
  arrows: [],
};

test("a second click on the same two words takes the arrow away", () => {
  const once = withArrow(TEXT, 2, 1);
  assert.deepEqual(wordPairs(once), [{ from: 2, to: 1 }]);
  const twice = withArrow(once, 0, 1);
  assert.deepEqual(wordPairs(twice), [
    { from: 2, to: 1 },
    { from: 0, to: 1 },
  ]);
  assert.deepEqual(wordPairs(withArrow(twice, 2, 1)), [{ from: 0, to: 1 }]);
  assert.deepEqual(withArrow(TEXT, 2, 9), TEXT);
});

test("arrows are saved by characters, texts without arrows not at all", () => {
  assert.deepEqual(linesOf([TEXT]), []);
  assert.equal(asJsonLines([TEXT, withArrow(TEXT, 2, 1)]), '{"text":"She read it.","arrows":[[[9,11],[4,8]]]}\n');
});
