import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, DEFAULTS, parseState, printState, type State, stepOf, withExtra } from "../../src/shell/state";

test("an empty fragment is the defaults", () => {
  assert.deepEqual(parseState(""), DEFAULTS);
  assert.deepEqual(parseState("#"), DEFAULTS);
  assert.equal(printState({ ...DEFAULTS }), "");
});

test("every field is read", () => {
  const state = parseState(
    "#view=matrix&stack=cross&layer=3&heads=4,2,2&filter=ab&token=5&side=key&threshold=0.1&level=word&theme=dark" +
      "&scale=linear&colour=offset_attention:offset=-1&q=a%26b&hq=layer+4&selected=3.2,11.0&atlas=x&model=demo&a=A+b&b=%3Cb%3E&x-map=tsne",
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
    colour: "offset_attention:offset=-1",
    q: "a&b",
    hq: "layer 4",
    selected: ["3.2", "11.0"],
    atlas: "x",
    model: "demo",
    a: "A b",
    b: "<b>",
    extra: { "x-map": "tsne" },
  });
});

test("what is printed reads as the same", () => {
  const state = {
    ...DEFAULTS,
    view: "head",
    heads: [0, 11],
    token: 0,
    threshold: 0.0625,
    colour: "a:b=1&c",
    q: "#?+ ]]> שלום 🦊",
    selected: ["1.2"],
    extra: { "x-one": "1,2" },
  };
  assert.deepEqual(parseState(printState(state)), state);
  assert.match(printState(state), /^view=head&heads=0,11&token=0&threshold=0\.0625&/);
});

test("nonsense is left at the defaults", () => {
  const state = parseState(
    "layer=-1&heads=a,1.5,&filter=cc&token=x&threshold=nan&level=x&theme=x&selected=1,2.x&view=",
  );
  assert.deepEqual(state, { ...DEFAULTS, heads: [], selected: [] });
  assert.equal(parseState("threshold=7").threshold, 1);
  assert.equal(parseState("threshold=-7").threshold, 0);
  assert.equal(parseState("threshold=").threshold, DEFAULTS.threshold);
});

test("a page's own start is what links are told apart from", () => {
  const start = parseState("view=matrix&layer=3&heads=4");
  assert.equal(printState(start, start), "");
  const all = { ...start, heads: [], layer: 0 };
  assert.deepEqual(parseState(printState(all, start), start), all);
  const free = { ...parseState("token=3"), token: null };
  assert.deepEqual(parseState(printState(free, parseState("token=3")), parseState("token=3")), free);
});

test("another model takes what belonged to the last one away", () => {
  const before = { ...DEFAULTS, model: "demo", token: 5, extra: { "x-off": "3.2", "x-box": "1,2,3", "x-map": "mds" } };
  const after = changed(before, { model: "demo-qa", layer: 2 });
  assert.deepEqual(after, { ...before, model: "demo-qa", layer: 2, token: null, extra: { "x-map": "mds" } });
  assert.equal(changed(before, { model: "demo-qa", token: 1 }).token, 1);
  assert.deepEqual(changed(before, { model: "demo" }), before);
  // No model is the first one, which the page names once it has read.
  assert.equal(changed({ ...before, model: "" }, { model: "demo" }).token, 5);
  assert.equal(changed(before, { model: "demo-qa", ...withExtra(before, "x-off", "1.1") }).extra["x-off"], "1.1");
});

test("other tokens take the place in the matrix away", () => {
  const before = { ...DEFAULTS, stack: "encoder", a: "One.", extra: { "x-off": "3.2", "x-box": "1,2,3" } };
  for (const change of [{ a: "Two." }, { b: "Two." }, { level: "word" as const }, { stack: "cross" }]) {
    assert.deepEqual(changed(before, change).extra, { "x-off": "3.2" }, JSON.stringify(change));
  }
  assert.deepEqual(changed(before, { layer: 3, heads: [1], filter: "ab" }).extra, before.extra);
  assert.deepEqual(changed({ ...before, stack: "" }, { stack: "encoder" }).extra, before.extra);
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
    stepOf(from, changed(from, change), { model: "demo", atlas: "x" });
  for (const change of [{ view: "try" }, { model: "demo-qa" }, { a: "Three." }, { b: "" }, { atlas: "y" }]) {
    assert.equal(step(change), "step", JSON.stringify(change));
  }
  for (const change of [{ layer: 1 }, { heads: [1] }, { stack: "cross" }, withExtra(before, "x-off", "3.2")]) {
    assert.equal(step(change), "run", JSON.stringify(change));
  }
  for (const change of [
    {},
    { ...before },
    { token: 3 },
    { q: "a" },
    { threshold: 0.2 },
    withExtra(before, "x-box", "1"),
  ]) {
    assert.equal(step(change), "none", JSON.stringify(change));
  }
});

test("what the page itself names is no step", () => {
  const unnamed = { ...DEFAULTS };
  const step = (change: Partial<State>) => stepOf(unnamed, changed(unnamed, change), { model: "demo", atlas: "x" });
  assert.equal(step({ model: "demo", a: "", b: "" }), "none");
  assert.equal(step({ atlas: "x" }), "none");
  assert.equal(step({ stack: "encoder" }), "none");
  assert.equal(step({ model: "demo-qa" }), "step");
  assert.equal(step({ atlas: "y" }), "step");
});
