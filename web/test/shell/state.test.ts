import assert from "node:assert/strict";
import { test } from "node:test";
import { AS_IS, type Scope, setting } from "../../src/shell/setting";
import { changed as changedWith, DEFAULTS, parseState, printState, type State, stepOf } from "../../src/shell/state";

/** One setting a scope; those of real views are tested beside them. */
const SETTINGS = (["page", "atlas", "model", "tokens", "token"] as Scope[]).map((scope) =>
  setting(`x-${scope}`, AS_IS, { scope, isStep: scope === "model" }),
);
const parsed = (fragment: string, start?: State): State => parseState(fragment, SETTINGS, start);
const changed = (before: State, change: Partial<State>): State => changedWith(before, change, SETTINGS);

test("an empty fragment is the defaults", () => {
  assert.deepEqual(parsed(""), DEFAULTS);
  assert.deepEqual(parsed("#"), DEFAULTS);
  assert.equal(printState({ ...DEFAULTS }), "");
});

test("every field is read", () => {
  const state = parsed(
    "#view=matrix&stack=cross&layer=3&heads=4,2,2&filter=ab&token=5&side=key&threshold=0.1&level=word&theme=dark" +
      "&scale=linear&q=a%26b&hq=layer+4&atlas=x&model=demo&a=A+b&b=%3Cb%3E&x-page=tsne&x-other=1&other=2",
  );
  assert.deepEqual(state, {
    view: "matrix",
    stack: "cross",
    layer: 3,
    heads: [2, 4],
    filter: "ab",
    token: 5,
    side: "key",
    threshold: 0.1,
    level: "word",
    theme: "dark",
    scale: "linear",
    q: "a&b",
    hq: "layer 4",
    atlas: "x",
    model: "demo",
    a: "A b",
    b: "<b>",
    settings: { "x-page": "tsne" },
  });
});

test("what is printed reads as the same", () => {
  const state = {
    ...DEFAULTS,
    view: "head",
    heads: [0, 11],
    token: 0,
    threshold: 0.0625,
    q: "#?+ ]]> שלום 🦊",
    settings: { "x-page": "1,2&a:b" },
  };
  assert.deepEqual(parsed(printState(state)), state);
  assert.match(printState(state), /^view=head&heads=0,11&token=0&threshold=0\.0625&/);
});

test("nonsense is left at the defaults", () => {
  const state = parsed("layer=-1&heads=a,1.5,&filter=cc&token=x&threshold=nan&level=x&theme=x&view=");
  assert.deepEqual(state, { ...DEFAULTS, heads: [] });
  assert.equal(parsed("threshold=7").threshold, 1);
  assert.equal(parsed("threshold=-7").threshold, 0);
  assert.equal(parsed("threshold=").threshold, DEFAULTS.threshold);
});

test("a page's own start is what links are told apart from", () => {
  const start = parsed("view=matrix&layer=3&heads=4");
  assert.equal(printState(start, start), "");
  const all = { ...start, heads: [], layer: 0 };
  assert.deepEqual(parsed(printState(all, start), start), all);
  const set = parsed("x-page=1");
  assert.deepEqual(parsed("", set).settings, { "x-page": "1" });
  const unset = changed(set, { settings: { "x-page": "" } });
  assert.deepEqual([unset.settings, printState(unset, set)], [{}, "x-page="]);
  assert.deepEqual(parsed(printState(unset, set), set), unset);
  const free = { ...parsed("token=3"), token: null };
  assert.deepEqual(parsed(printState(free, parsed("token=3")), parsed("token=3")), free);
});

const ALL = { "x-page": "1", "x-atlas": "2", "x-model": "3", "x-tokens": "4", "x-token": "5" };
const left = (before: State, change: Partial<State>): string[] =>
  Object.keys(changed({ ...before, settings: ALL }, change).settings).map((name) => name.slice(2));

test("another model or atlas takes what belonged to the last one away", () => {
  const before = { ...DEFAULTS, model: "demo", token: 5, atlas: "one" };
  assert.deepEqual(left(before, { model: "demo-qa", layer: 2 }), ["page"]);
  assert.equal(changed(before, { model: "demo-qa" }).atlas, "");
  assert.equal(changed(before, { model: "demo-qa", atlas: "two" }).atlas, "two");
  assert.equal(changed(before, { model: "demo-qa", layer: 2 }).token, null);
  assert.equal(changed(before, { model: "demo-qa", token: 1 }).token, 1);
  assert.deepEqual(changed(before, { model: "demo" }), before);
  // No model is the first one, which the page names once it has read.
  assert.equal(changed({ ...before, model: "" }, { model: "demo" }).token, 5);
  assert.deepEqual(left(before, { atlas: "two" }), ["page", "model", "tokens", "token"]);
  assert.deepEqual(left({ ...before, atlas: "" }, { atlas: "two" }), ["page", "model", "tokens", "token"]);
  assert.deepEqual(left(before, { atlas: "one" }).length, 5);
});

test("a change names the settings it changes, and those stay", () => {
  const before = { ...DEFAULTS, model: "demo", settings: ALL };
  assert.deepEqual(changed(before, { settings: { "x-page": "9" } }).settings, { ...ALL, "x-page": "9" });
  assert.deepEqual(changed(before, { model: "other", settings: { "x-model": "9" } }).settings, {
    "x-page": "1",
    "x-model": "9",
  });
  const { "x-page": _, ...rest } = ALL;
  assert.deepEqual(changed(before, { settings: { "x-page": "" } }).settings, rest);
  assert.equal(before.settings, ALL);
});

test("other tokens take what belonged to them away", () => {
  const before = { ...DEFAULTS, stack: "encoder", a: "One.", token: 2 };
  for (const change of [{ a: "Two." }, { b: "Two." }, { level: "word" as const }, { stack: "cross" }]) {
    assert.deepEqual(left(before, change), ["page", "atlas", "model"], JSON.stringify(change));
  }
  for (const token of [3, null]) assert.deepEqual(left(before, { token }), ["page", "atlas", "model", "tokens"]);
  assert.equal(left(before, { layer: 3, heads: [1], filter: "ab", token: 2 }).length, 5);
  assert.equal(left({ ...before, stack: "" }, { stack: "encoder" }).length, 5);
});

test("another text has no token held, unless the change names one", () => {
  const before = { ...DEFAULTS, a: "One.", b: "Two.", token: 5 };
  assert.equal(changed(before, { a: "Three." }).token, null);
  assert.equal(changed(before, { b: "" }).token, null);
  assert.equal(changed(before, { a: "Three.", token: 1 }).token, 1);
  assert.equal(changed(before, { a: "One.", b: "Two." }).token, 5);
});

test("what one goes back over", () => {
  const before = { ...DEFAULTS, view: "head", model: "demo", a: "One.", b: "Two.", atlas: "x", stack: "encoder" };
  const step = (change: Partial<State>, from: State = before) =>
    stepOf(from, changed(from, change), SETTINGS, { model: "demo", atlas: "x" });
  for (const change of [{ view: "try" }, { model: "demo-qa" }, { a: "Three." }, { b: "" }, { atlas: "y" }]) {
    assert.equal(step(change), "step", JSON.stringify(change));
  }
  for (const change of [{ layer: 1 }, { heads: [1] }, { stack: "cross" }, { settings: { "x-model": "3.2" } }]) {
    assert.equal(step(change), "run", JSON.stringify(change));
  }
  for (const change of [
    {},
    { ...before },
    { token: 3 },
    { q: "a" },
    { threshold: 0.2 },
    { settings: { "x-page": "1" } },
  ]) {
    assert.equal(step(change), "none", JSON.stringify(change));
  }
});

test("what the page itself names is no step", () => {
  const unnamed = { ...DEFAULTS };
  const step = (change: Partial<State>) =>
    stepOf(unnamed, changed(unnamed, change), SETTINGS, { model: "demo", atlas: "x" });
  assert.equal(step({ model: "demo", a: "", b: "" }), "none");
  assert.equal(step({ atlas: "x" }), "none");
  assert.equal(step({ stack: "encoder" }), "none");
  assert.equal(step({ model: "demo-qa" }), "step");
  assert.equal(step({ atlas: "y" }), "step");
});
