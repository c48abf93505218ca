import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen, Tokens } from "../../src/data/api";
import type { Source } from "../../src/data/source";
import { within } from "../../src/shell/choices";
import { beyond, missingIn } from "../../src/shell/missing";
import { DEFAULTS } from "../../src/shell/state";
import { offered, VIEWS } from "../../src/shell/views";

const never = (): Promise<never> => Promise.reject(new Error("not asked for"));

const SERVER: Source = {
  kind: "server",
  start: "",
  current: null,
  about: {
    version: "1",
    models: [{ name: "demo", architecture: "bert", task: "mlm", max_length: 512, pairs: true }],
    atlases: [{ id: "one", name: "One", model: "demo" }],
  },
  seen: never,
  maps: never,
  predict: never,
  atlas: never,
};

const missing = (state: Partial<typeof DEFAULTS>, source = SERVER) =>
  missingIn(
    { ...DEFAULTS, ...state },
    source,
    VIEWS.filter((view) => offered(view, source)),
  );

test("what is there is not missing", () => {
  for (const state of [
    {},
    { model: "demo" },
    { view: "try", model: "demo" },
    { view: "atlas", atlas: "one" },
    { view: "atlas", atlas: "One" },
    { view: "map" },
    { view: "atlas", model: "demo" },
    { view: "atlas", model: "demo", atlas: "one" },
  ]) {
    assert.equal(missing(state), null, JSON.stringify(state));
  }
});

test("a name that the server has not is said, where it would be used", () => {
  assert.equal(missing({ model: "bert-large" })?.words, "This server has no model “bert-large”.");
  assert.equal(missing({ view: "try", model: "bert-large" })?.what, "model");
  assert.equal(missing({ view: "atlas", atlas: "nope" })?.words, "This server has no atlas “nope”.");
  assert.equal(missing({ atlas: "nope" }), null);
  assert.equal(missing({ view: "foo" })?.words, "This server has no view “foo”.");
  assert.equal(missing({ view: "neuron" })?.words, "This server has no view “Neurons”.");
});

test("an atlas of another model than the address names is not shown", () => {
  for (const view of ["atlas", "map"]) {
    const none = missing({ view, model: "demo-lm" });
    assert.equal(none?.what, "atlas");
    assert.match(none?.words ?? "", /^This server has no atlas of “demo-lm”/);
    const other = missing({ view, model: "demo-lm", atlas: "one" });
    assert.equal(other?.words, "“One” is an atlas of “demo”, not of “demo-lm”.");
  }
});

test("a file reads no texts: the model's name is not looked up", () => {
  const { seen: _, predict: __, ...file } = SERVER;
  assert.equal(missing({ model: "other" }, { ...file, kind: "file" }), null);
});

const TOKENS: Tokens = {
  pieces: ["[CLS]", "re", "##paint", "it", "[SEP]"],
  words: ["repaint", "it"],
  word: [-1, 0, 0, 1, -1],
  segment: [-1, 0, 0, 0, -1],
  special: [true, false, false, false, true],
};

const SEEN = {
  model: "demo",
  source: TOKENS,
  target: null,
  stacks: [{ name: "encoder", layers: 12, heads: 8, queries: "source", keys: "source", causal: false }],
} as unknown as Seen;

const said = (state: Partial<typeof DEFAULTS>) => beyond({ ...DEFAULTS, ...state }, SEEN);

test("what is there is passed over", () => {
  for (const state of [
    {},
    { stack: "encoder", layer: 11, heads: [0, 7], token: 4 },
    { token: 3, level: "word" as const },
  ]) {
    assert.deepEqual(said(state), [], JSON.stringify(state));
  }
});

test("what a link names and the text has not is said, with what there is", () => {
  assert.deepEqual(said({ stack: "cross", layer: 99, heads: [3, 99], token: 77 }), [
    "no cross (the encoder is shown)",
    "no layer 99 (there are 0 to 11)",
    "no head 99 (there are 0 to 7)",
    "no token 77 (there are 0 to 4)",
  ]);
  assert.deepEqual(said({ token: 4, level: "word" }), ["no word 4 (there are 0 to 3)"]);
});

test("views are given what there is", () => {
  const state = within({ ...DEFAULTS, stack: "cross", layer: 99, heads: [3, 99], token: 77 }, SEEN);
  assert.deepEqual([state.stack, state.layer, state.heads, state.token], ["encoder", 11, [3], null]);
  assert.equal(within({ ...DEFAULTS, token: 4 }, SEEN).token, 4);
});
