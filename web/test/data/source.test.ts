import assert from "node:assert/strict";
import { test } from "node:test";
import { atlasIn, layerMaps } from "../../src/data/source";
import { headCodes } from "../../src/data/weights";
import { SEEN } from "../fixtures";

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

test("the atlas of an address is of the model that it names", () => {
  const atlases = [
    { id: "one", name: "one.nc", model: "demo" },
    { id: "two", name: "two.nc", model: "demo-lm" },
    { id: "one-2", name: "one.nc", model: "demo-lm" },
  ];
  const found = (atlas: string, model: string) => atlasIn({ atlases }, { atlas, model })?.id ?? null;
  assert.equal(found("", ""), "one");
  assert.equal(found("", "demo-lm"), "two");
  assert.equal(found("", "demo-qa"), null);
  assert.equal(found("two", ""), "two");
  assert.equal(found("two", "demo-lm"), "two");
  assert.equal(found("two", "demo"), null);
  assert.equal(found("one.nc", "demo-lm"), "one-2"); // two files of one name
  assert.equal(found("nope", ""), null);
});
