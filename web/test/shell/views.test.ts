import assert from "node:assert/strict";
import { test } from "node:test";
import { selected, stretched } from "../../src/atlas/settings";
import { how } from "../../src/shell/edit";
import { changed, DEFAULTS, parseState, printState, type State, stepOf } from "../../src/shell/state";
import { SETTINGS } from "../../src/shell/views";

const LINK =
  "colour=a:b%3D1&selected=3.2,11.0&x-box=1,2,3&x-how=uniform&x-map=tsne&x-off=3.2&x-pick=is:dense&x-piece=4&x-stretch=1";

test("links name the settings of views as they always have", () => {
  const state = parseState(LINK, SETTINGS);
  assert.equal(Object.keys(state.settings).length, 9);
  assert.deepEqual(selected.of(state), ["3.2", "11.0"]);
  assert.deepEqual([stretched.of(state), how.of(state)], [true, "uniform"]);
  assert.equal(printState(state), LINK);
  assert.equal(SETTINGS.length, 17, "each has its own name");
});

test("what cannot be read is as if it were not there", () => {
  const state = parseState("selected=1,2.x,&x-how=other&x-stretch=yes", SETTINGS);
  assert.deepEqual([selected.of(state), how.of(state), stretched.of(state)], [[], "zero", false]);
});

test("what goes with another model, atlas, text or token", () => {
  const before: State = { ...parseState(LINK, SETTINGS), model: "demo", atlas: "one", a: "One.", token: 2 };
  const gone = (change: Partial<State>): string[] => {
    const { settings } = changed(before, change, SETTINGS);
    return Object.keys(before.settings)
      .filter((name) => !(name in settings))
      .sort();
  };
  assert.deepEqual(gone({ model: "other" }), ["colour", "selected", "x-box", "x-off", "x-pick", "x-piece"]);
  assert.deepEqual(gone({ a: "Two." }), ["x-box", "x-piece"]);
  assert.deepEqual(gone({ level: "word" }), ["x-box", "x-piece"]);
  assert.deepEqual(gone({ token: 3 }), ["x-piece"]);
  assert.deepEqual(gone({ atlas: "two" }), ["colour", "selected", "x-pick"]);
  assert.deepEqual(gone({ layer: 3, heads: [1], filter: "ab", view: "map" }), []);
});

test("one goes back over heads that were switched off, not over looks", () => {
  const before = { ...DEFAULTS };
  const step = (settings: Record<string, string>) => stepOf(before, changed(before, { settings }, SETTINGS), SETTINGS);
  for (const name of ["x-off", "x-how"]) assert.equal(step({ [name]: "a" }), "run", name);
  for (const name of ["colour", "selected", "x-box", "x-map", "x-pick", "x-piece", "x-stretch"]) {
    assert.equal(step({ [name]: "a" }), "none", name);
  }
});
