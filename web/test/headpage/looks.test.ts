import assert from "node:assert/strict";
import { test } from "node:test";
import type { TypicalSentence } from "../../src/data/api";
import { habitOf, isSpecial, likenessWords, received, strongest } from "../../src/headpage/looks";

const looking = (
  words: string[],
  looks_at: number[],
  weights: number[],
  keys: string[] | null = null,
): TypicalSentence => ({
  words,
  keys,
  looks_at,
  weights,
  likeness: 0.9,
});

test("what words get, from those that look at them most", () => {
  assert.deepEqual(received(looking(["a", "b", "c"], [1, 1, 0], [0.5, 0.25, 0.5])), [0.5, 0.75, 0]);
  assert.deepEqual(received(looking(["a", "b"], [9, -1], [0.5, 0.5])), [0, 0], "places that are not there");
  assert.deepEqual(received(looking(["a"], [1], [0.5], ["x", "y"])), [0, 0.5]);
});

test("the strongest links are not all to special tokens where there are others of weight", () => {
  const sentence = looking(
    ["[CLS]", "a", "b", "c", "d", "e", "[SEP]"],
    [6, 6, 6, 6, 1, 2, 6],
    [0.99, 0.98, 0.97, 0.96, 0.5, 0.1, 0.95],
  );
  const names = strongest(sentence, 4).map(({ from, to }) => `${sentence.words[from]}>${sentence.words[to]}`);
  assert.deepEqual(names, ["[CLS]>[SEP]", "a>[SEP]", "b>[SEP]", "d>a"], "e>b is too weak to stand for the head");
  const twice = looking(["the", "x", "the", "x"], [1, 1, 3, 3], [0.9, 0.8, 0.7, 0.6]);
  assert.equal(strongest(twice, 4).length, 2, "the same words once");
  assert.ok(
    isSpecial("[SEP]") && isSpecial("</s>") && isSpecial("<|endoftext|>") && !isSpecial("[a]") && !isSpecial("<"),
  );
});

test("habits in words", () => {
  assert.equal(
    habitOf(looking(["[CLS]", "a", "b", "c"], [0, 0, 1, 2], [1, 1, 1, 1])),
    "3 of 4 words look most at the word before",
  );
  assert.equal(habitOf(looking(["a", "b", "[SEP]"], [2, 2, 2], [1, 1, 1])), "3 of 3 words look most at [SEP]");
  assert.equal(habitOf(looking(["a", "b", "c", "d"], [2, 3, 0, 0], [1, 1, 1, 1])), "");
  assert.equal(
    habitOf(looking(["a", "b", "c", "d", "e"], [3, 0, 1, 0, 1], [1, 1, 1, 1, 1])),
    "",
    "two of five are not most",
  );
  assert.equal(
    habitOf(looking(["a", "b"], [0, 1], [1, 1], ["x", "y"])),
    "",
    "places in another text are no neighbours",
  );
  assert.match(habitOf(looking(["a", "b"], [0, 1], [0.1, 0.2])), /^spread out: .* 0\.20$/);
  assert.equal(likenessWords(0.97), "just what it usually does");
  assert.match(likenessWords(-1), /little/);
});
