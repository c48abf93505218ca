import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen, Tokens } from "../../src/data/api";
import {
  axesOf,
  axisOf,
  errorOf,
  errorWords,
  filtered,
  fold,
  hasSentences,
  matches,
  moved,
  repeated,
  shortened,
  visible,
} from "../../src/data/tokens";

// [CLS] re ##paint it [SEP] go [SEP]
const TOKENS: Tokens = {
  pieces: ["[CLS]", "re", "##paint", "it", "[SEP]", "go", "[SEP]"],
  words: ["repaint", "it", "go"],
  word: [-1, 0, 0, 1, -1, 2, -1],
  segment: [-1, 0, 0, 0, -1, 1, -1],
  special: [true, false, false, false, true, false, true],
};

test("pieces and words along an axis", () => {
  const pieces = axisOf(TOKENS, "piece");
  assert.deepEqual(pieces.labels, TOKENS.pieces);
  assert.deepEqual([...pieces.starts], [0, 1, 2, 3, 4, 5, 6, 7]);
  const words = axisOf(TOKENS, "word");
  assert.deepEqual(words.labels, ["[CLS]", "repaint", "it", "[SEP]", "go", "[SEP]"]);
  assert.deepEqual([...words.starts], [0, 1, 3, 4, 5, 6, 7]);
  assert.deepEqual(words.segment, [-1, 0, 0, -1, 1, -1]);
  assert.deepEqual(words.special, [true, false, false, true, false, true]);
});

test("tokens that the model wrote are marked, as pieces and as words", () => {
  const generated = [false, false, false, false, false, true, true];
  assert.deepEqual(axisOf({ ...TOKENS, generated }, "word").generated, [false, false, false, false, true, true]);
  assert.deepEqual(axisOf({ ...TOKENS, generated }, "piece").generated, generated);
  assert.ok(!axisOf(TOKENS, "piece").generated.includes(true));
});

test("special tokens beside each other stay apart", () => {
  const two = { ...TOKENS, pieces: ["[SEP]", "[PAD]"], word: [-1, -1], segment: [-1, -1], special: [true, true] };
  assert.deepEqual(axisOf(two, "word").labels, ["[SEP]", "[PAD]"]);
});

test("to a word the sum over its pieces, from a word the mean", () => {
  const three: Tokens = {
    pieces: ["a", "b", "##c"],
    words: ["a", "bc"],
    word: [0, 1, 1],
    segment: [0, 0, 0],
    special: [false, false, false],
  };
  const axis = axisOf(three, "word");
  const weights = Float32Array.from([0.5, 0.25, 0.25, 0.2, 0.3, 0.5, 0.6, 0.4, 0.0]);
  const folded = fold(weights, axis, axis);
  // from a: 0.5, 0.25 + 0.25; from bc: (0.2 + 0.6) / 2, (0.3 + 0.5 + 0.4 + 0) / 2
  for (const [at, wanted] of [0.5, 0.5, 0.4, 0.6].entries()) assert.ok(Math.abs(folded[at]! - wanted) < 1e-6);
  assert.equal(folded.length, 4);
  const pieces = axisOf(three, "piece");
  assert.equal(fold(weights, pieces, pieces), weights);
});

test("cross attention folds each side by its own words", () => {
  const source = axisOf({ ...TOKENS, pieces: ["x", "##y"], words: ["xy"], word: [0, 0] }, "word");
  const target = axisOf({ ...TOKENS, pieces: ["u", "v"], words: ["u", "v"], word: [0, 1] }, "word");
  const folded = fold(Float32Array.from([0.25, 0.75, 0.5, 0.25]), target, source);
  assert.deepEqual([...folded], [1, 0.75]);
});

test("sentence filters leave special tokens out", () => {
  const axis = axisOf(TOKENS, "word");
  assert.deepEqual(filtered("all", axis, axis).query, Array(6).fill(true));
  const { query, key } = filtered("ab", axis, axis);
  assert.deepEqual(query, [false, true, true, false, false, false]);
  assert.deepEqual(key, [false, false, false, false, true, false]);
  assert.deepEqual(filtered("ba", axis, axis), { query: key, key: query });
});

test("filters are offered for two sentences only, and not between encoder and decoder", () => {
  const own = { name: "encoder", layers: 1, heads: 1, queries: "source", keys: "source", causal: false } as const;
  const seen = { source: TOKENS, target: { ...TOKENS, segment: TOKENS.segment.map(() => 0) } } as unknown as Seen;
  assert.equal(hasSentences(seen, own), true);
  assert.equal(hasSentences(seen, { ...own, queries: "target" }), false);
  assert.equal(hasSentences(seen, { ...own, queries: "target", keys: "target" }), false);
  const axes = axesOf(seen, { ...own, queries: "target" }, "word");
  assert.notEqual(axes.queries, axes.keys);
});

test("a token held fast is found again at the other level", () => {
  const pieces = axisOf(TOKENS, "piece");
  const words = axisOf(TOKENS, "word");
  assert.equal(moved(2, pieces, words), 1);
  assert.equal(moved(6, pieces, words), 5);
  assert.equal(moved(1, words, pieces), 1);
  assert.equal(moved(2, words, pieces), 3);
  assert.equal(moved(6, words, pieces), null);
});

test("long words are cut between characters", () => {
  assert.equal(shortened("x".repeat(1000), 10), "xxxxxxxxx…");
  assert.equal(shortened("abc", 3), "abc");
  assert.equal(shortened("🦊".repeat(5), 5), "🦊".repeat(5));
  assert.equal(shortened("🦊".repeat(6), 4), "🦊🦊🦊…");
});

test("search finds parts of words, whatever their case", () => {
  assert.deepEqual(matches(axisOf(TOKENS, "word"), " PAINT"), [false, true, false, false, false, false]);
  assert.deepEqual(matches(axisOf(TOKENS, "word"), "  "), Array(6).fill(false));
});

test("what cannot be seen is shown by a sign", () => {
  assert.equal(visible("a\nb\tc\r"), "a↵b⇥c↵");
  assert.equal(visible("\u202eabc\u202c"), "‹RLO›abc‹PDF›");
  for (const code of [
    0x200e,
    0x200f,
    ...[0, 1, 2, 3, 4].map((at) => 0x202a + at),
    ...[0, 1, 2, 3].map((at) => 0x2066 + at),
  ]) {
    assert.match(visible(`a${String.fromCharCode(code)}b`), /^a‹[A-Z]{3}›b$/, code.toString(16));
  }
  assert.equal(visible("👩\u200d👧 שלום"), "👩\u200d👧 שלום"); // what joins an emoji stays
  assert.equal(visible("\u0000"), "␀");
  assert.equal(visible(""), "␣");
  assert.equal(visible("  "), "␣␣");
});

test("labels that stand more than once", () => {
  assert.deepEqual(repeated(axisOf(TOKENS, "piece")), [false, false, false, false, true, false, true]);
});

test("words have an error of their own", () => {
  const seen = { max_error: 0.001, word_error: 0.004 } as Seen;
  assert.equal(errorOf(seen, "piece"), 0.001);
  assert.equal(errorOf(seen, "word"), 0.004);
  assert.equal(errorOf({ max_error: 0.001 } as Seen, "word"), 0.001);
  assert.equal(errorWords(seen, "word"), "0.0040");
  assert.equal(errorWords({ ...seen, max_error: 0.0000096 }, "piece"), "0.0001");
});
