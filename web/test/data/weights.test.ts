import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seen } from "../../src/data/api";
import { layerMaps } from "../../src/data/source";
import { weightsOf } from "../../src/data/weights";

const LEVELS = [0, 0.1, 0.5, 1];

const SEEN = {
  source: { pieces: ["a", "b"] },
  stacks: [{ name: "encoder", layers: 1, heads: 2, queries: "source", keys: "source", causal: false }],
  fine: false,
} as unknown as Seen;

test("one byte is a level", () => {
  const maps = layerMaps(SEEN, "encoder", 0, Uint8Array.from([0, 1, 2, 3, 3, 2, 1, 0]));
  assert.equal(maps.second, null);
  assert.deepEqual(
    [0, 1, 2, 3].map((place) => weightsOf(maps, 1, LEVELS).at(place)),
    [1, 0.5, Math.fround(0.1), 0],
  );
});

test("a second byte lies between the middles around the level", () => {
  const first = [0, 1, 2, 3, 0, 1, 2, 3];
  const second = [0, 0, 0, 0, 255, 255, 51, 255];
  const maps = layerMaps({ ...SEEN, fine: true }, "encoder", 0, Uint8Array.from([...first, ...second]));
  const close = (head: number, wanted: number[]): void => {
    const found = weightsOf(maps, head, LEVELS);
    for (const [place, weight] of wanted.entries()) assert.ok(Math.abs(found.at(place) - weight) < 1e-6);
  };
  close(0, [0, 0.05, 0.3, 0.75]);
  close(1, [0.05, 0.3, 0.3 + 0.45 / 5, 1]);
  assert.throws(() => layerMaps({ ...SEEN, fine: true }, "encoder", 0, new Uint8Array(8)), /4 weights; 2 x 2 x 2/);
});

test("changes are from -1 to 1, and what cannot be told from 0 is 0", () => {
  const levels = [-1, -0.5, 0, 0.5, 1];
  const first = [0, 1, 2, 2, 2, 3, 4, 2];
  const second = [0, 0, 127, 128, 255, 0, 255, 0];
  const maps = layerMaps({ ...SEEN, fine: true }, "encoder", 0, Uint8Array.from([...first, ...second]));
  const close = (head: number, wanted: number[]): void => {
    const found = weightsOf(maps, head, levels);
    for (const [place, change] of wanted.entries()) assert.ok(Math.abs(found.at(place) - change) < 1e-6);
  };
  close(0, [-1, -0.75, 0, 0]);
  close(1, [0.25, 0.25, 1, -0.25]);
});

test("signed shares reach beyond 1, and a byte may stand for no number", () => {
  const levels = [-3, -1, 0, 1, 3, null];
  const first = [0, 1, 3, 5, 5, 4, 4, 2];
  const second = [0, 0, 255, 7, 0, 255, 0, 128];
  const maps = layerMaps({ ...SEEN, fine: true }, "encoder", 0, Uint8Array.from([...first, ...second]));
  const at = (head: number) =>
    [0, 1, 2, 3].map((place) => Math.round(1e4 * weightsOf(maps, head, levels).at(place)) / 1e4);
  assert.deepEqual(at(0), [-3, -2, 2, Number.NaN]);
  assert.deepEqual(at(1), [Number.NaN, 3, 2, 0]);
  const coarse = layerMaps(SEEN, "encoder", 0, Uint8Array.from(first));
  assert.deepEqual(
    [2, 3].map((place) => weightsOf(coarse, 0, levels).at(place)),
    [1, Number.NaN],
  );
});
