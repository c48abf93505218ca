import assert from "node:assert/strict";
import { test } from "node:test";
import { Cache, remembered } from "../../src/data/remembered";
import { type LayerMaps, layerMaps } from "../../src/data/source";
import { SEEN } from "../fixtures";

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
