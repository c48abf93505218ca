import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import type { Embedded, Seen } from "../../src/data/api";
import { Cache, fromBase64, headCodes, inflate, inflateJson } from "../../src/data/decode";
import { embeddedSource } from "../../src/data/embedded";
import { remembered } from "../../src/data/remembered";
import { type LayerMaps, layerMaps } from "../../src/data/source";
import { bytesOf, widgetSource } from "../../src/data/widget";

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
const ABOUT = { version: "1", models: [], atlases: [] };

test("raw deflate, as Python's zlib with wbits=-15 writes it", async () => {
  // zlib.compressobj(9, zlib.DEFLATED, -15) on bytes(range(4)) * 3
  const bytes = fromBase64("Y2BkYmaAYgA=");
  assert.deepEqual([...(await inflate(bytes))], [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
  assert.deepEqual(await inflateJson(deflateRawSync('{"a":["é"]}')), { a: ["é"] });
});

test("base64, with and without the browser's own decoder", () => {
  assert.deepEqual([...fromBase64("AAEC/w==")], [0, 1, 2, 255]);
  assert.deepEqual([...fromBase64("")], []);
});

test("the codes of one head are a part of the layer's", () => {
  const codes = [255, 0, 51, 204, 0, 255, 255, 102];
  const maps = layerMaps(SEEN, "encoder", 0, Uint8Array.from(codes));
  assert.deepEqual([...headCodes(maps, 0)], codes.slice(0, 4));
  assert.deepEqual([...headCodes(maps, 1)], codes.slice(4));
  const second = [1, 2, 3, 4, 5, 6, 7, 8];
  const fine = layerMaps({ ...SEEN, fine: true }, "encoder", 0, Uint8Array.from([...codes, ...second]));
  assert.deepEqual([...headCodes(fine, 1)], codes.slice(4));
});

test("maps of cross attention have the sizes of both sides; a wrong size is told", () => {
  const maps = layerMaps(SEEN, "cross", 0, new Uint8Array(2));
  assert.deepEqual([maps.heads, maps.queries, maps.keys], [1, 1, 2]);
  assert.throws(() => layerMaps(SEEN, "encoder", 0, new Uint8Array(7)), /7 weights; 2 x 2 x 2 were expected/);
  assert.throws(() => layerMaps(SEEN, "decoder", 0, new Uint8Array(7)), /no stack “decoder”/);
});

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

test("a source offers what its data holds", async () => {
  const nothing: Embedded = { about: ABOUT, seen: null, atlas: null, head_pages: {}, start: "", chunks: [] };
  const empty = embeddedSource("file", nothing, () => null);
  assert.deepEqual(
    [empty.maps, empty.neurons, empty.atlas, empty.headPage, empty.seen, empty.predict],
    Array(6).fill(undefined),
  );
  const full = embeddedSource("file", { ...nothing, seen: SEEN }, () => null);
  await assert.rejects(
    full.neurons!("encoder", 0, 0),
    /head 0\.0 are not here, only those of 0\.1: .* --layer 0 --head 0 writes/,
  );
  await assert.rejects(full.maps!("encoder", 0), /does not hold “maps\/encoder\/0”/);
});

test("a widget's chunks are cut out of its blob, however the notebook gives it", async () => {
  const chunk = deflateRawSync(Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]));
  const blob = new Uint8Array(chunk.length + 6);
  blob.set(chunk, 5);
  const about: Embedded = {
    about: ABOUT,
    seen: SEEN,
    atlas: null,
    head_pages: {},
    start: "layer=0",
    chunks: [{ key: "maps/encoder/0", start: 2, length: chunk.length }],
  };
  const view = new DataView(blob.buffer, 3); // a view that does not begin with its buffer
  const traits: Record<string, unknown> = { about: JSON.stringify(about), blob: view };
  const source = widgetSource({ get: (name) => traits[name], on: () => undefined, off: () => undefined });
  assert.deepEqual([...(await source.maps!("encoder", 0)).codes], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(bytesOf(blob.buffer).length, blob.length);
  assert.equal(bytesOf(null).length, 0);
});
