import assert from "node:assert/strict";
import { test } from "node:test";
import type { Source } from "../../src/data/source";
import { missingIn } from "../../src/shell/missing";
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
  ]) {
    assert.equal(missing(state), null, JSON.stringify(state));
  }
});

test("a name that the server has not is said, where it would be used", () => {
  assert.equal(missing({ model: "bert-large" })?.words, "This server has no model “bert-large”.");
  assert.equal(missing({ view: "try", model: "bert-large" })?.what, "model");
  assert.equal(missing({ view: "atlas", model: "bert-large" }), null);
  assert.equal(missing({ view: "atlas", atlas: "nope" })?.words, "This server has no atlas “nope”.");
  assert.equal(missing({ atlas: "nope" }), null);
  assert.equal(missing({ view: "foo" })?.words, "This server has no view “foo”.");
  assert.equal(missing({ view: "neuron" })?.words, "This server has no view “Neurons”.");
});

test("a file reads no texts: the model's name is not looked up", () => {
  const { seen: _, predict: __, ...file } = SERVER;
  assert.equal(missing({ model: "other" }, { ...file, kind: "file" }), null);
});
