import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen } from "../../src/data/api";
import { Cache, remembered } from "../../src/data/remembered";
import { type LayerMaps, layerMaps } from "../../src/data/source";

const LEVELS = Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

const TOKENS = { pieces: ["a", "b"], words: ["a", "b"], word: [0, 1], segment: [0, 0], special: [false, false] };

const SEEN: Seen = {
  id: "1",
  model: "m",
  architecture: "bert",
  text_a: "a b",
  text_b: null,
  source: TOKENS,
  target: { ...TOKENS, pieces: ["x"], words: ["x"], word: [0], segment: [0], special: [false] },
  stacks: [
    { name: "encoder", layers: 1, heads: 2, queries: "source", keys: "source", causal: false },
    { name: "cross", layers: 1, heads: 1, queries: "target", keys: "source", causal: false },
  ],
  levels: LEVELS,
  max_error: 0.002,
  word_error: 0.001,
  fine: false,
  rotated: false,
  has_neurons: true,
  neuron_heads: ["encoder/0/1"],
  note: "",
};

test("the cache forgets what was used longest ago", () => {
  const cache = new Cache<string>(10);
  cache.set("a", "A", 4);
  cache.set("b", "B", 4);
  assert.equal(cache.get("a"), "A");
  cache.set("c", "C", 4);
  assert.equal(cache.get("b"), undefined);
  assert.equal(cache.get("a"), "A");
  cache.set("d", "D", 100);
  assert.equal(cache.get("d"), "D");
  assert.equal(cache.get("a"), undefined);
});

test("a layer is asked for once, and again after a failure", async () => {
  let asked = 0;
  const load = remembered(async (_, layer) => {
    asked++;
    if (asked === 1) throw new Error("no");
    return layerMaps(SEEN, "encoder", layer, new Uint8Array(8));
  });
  await assert.rejects(load("encoder", 0));
  const both: LayerMaps[] = await Promise.all([load("encoder", 0), load("encoder", 0)]);
  assert.equal(both[0], both[1]);
  assert.equal(await load("encoder", 0), both[0]);
  assert.equal(asked, 2);
});
