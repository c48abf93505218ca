import assert from "node:assert/strict";
import test from "node:test";
import type { Seen } from "../../src/data/api";
import { embeddedSource } from "../../src/data/embedded";
import { amountOf } from "../../src/data/source";
import { headView } from "../../src/head/view";
import { neuronView } from "../../src/neuron/view";
import { wishIn } from "../../src/shell/edit";
import { parseState, printState } from "../../src/shell/state";
import { SETTINGS } from "../../src/shell/views";
import { weigh, weighedFor, weighedSource, whyNot } from "../../src/shell/weigh";

const ABOUT = { version: "1", models: [], atlases: [] };
const stored = { levels: [0, 1], max_error: 0.1, word_error: 0.1 };
const seen = {
  model: "m",
  source: { pieces: ["a"] },
  stacks: [{ name: "encoder", layers: 1, heads: 1, queries: "source", keys: "source", causal: false }],
  ...stored,
  fine: true,
  also: [{ ...stored, weigh: "signed", levels: [-1, 1], signed: true }],
} as unknown as Seen;

const asked = (link: string) => parseState(link, SETTINGS);

test("the address keeps how a text is weighed, and a server is asked for it", () => {
  assert.equal(wishIn(asked("")).weigh, "looked");
  assert.equal(wishIn(asked("weigh=moved")).weigh, "moved");
  assert.equal(wishIn(asked("weigh=nonsense")).weigh, "looked");
  const written = wishIn(asked("weigh=moved&generate=40&x-off=1.2&x-shows=difference"));
  assert.deepEqual(written, {
    edits: [{ heads: "1.2", how: "zero" }],
    difference: false,
    weigh: "looked",
    generate: 40,
  });
  assert.equal(wishIn(asked("generate=many")).generate, 0);
  assert.equal(printState(asked("weigh=signed")), "weigh=signed");
});

test("queries and keys explain where heads look, whatever the address says", () => {
  assert.equal(weigh.of(weighedFor(neuronView, asked("weigh=moved"))), "looked");
  assert.equal(weigh.of(weighedFor(headView, asked("weigh=moved"))), "moved");
});

test("a page shows the weighings that it holds, and says why it has no other", async () => {
  const keys: string[] = [];
  const page = embeddedSource("file", { about: ABOUT, seen }, (key) => {
    keys.push(key);
    return null;
  });
  const signed = weighedSource(page, asked("weigh=signed"));
  assert.notEqual(signed, page);
  assert.deepEqual(
    [signed.current?.weigh, signed.current?.fine, signed.current?.signed, signed.current?.levels[0]],
    ["signed", false, true, -1],
  );
  await assert.rejects(async () => signed.maps!("encoder", 0));
  assert.deepEqual(keys, ["signed/maps/encoder/0"]);
  assert.equal(weighedSource(page, asked("weigh=moved")), page);
  assert.equal(whyNot("signed", headView, page, seen), "");
  assert.equal(whyNot("looked", headView, page, signed.current!), "");
  assert.match(whyNot("moved", headView, page, seen), /headscope view … --weigh moved/);
  assert.match(whyNot("moved", neuronView, page, seen), /Queries and keys/);
  assert.match(whyNot("signed", headView, page, { ...seen, weigh_note: "no projection" }), /no projection/);
});

test("numbers are called what they are", () => {
  assert.equal(amountOf({}), "weight");
  assert.equal(amountOf({ weigh: "signed" }), "signed share");
  assert.equal(amountOf({ weigh: "moved", difference: true }), "change");
});
