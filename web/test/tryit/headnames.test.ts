import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grid } from "../../src/parts/headgrid";
import { parseHeads, printHeads } from "../../src/tryit/headnames";

const ONE: Grid[] = [{ name: "encoder", layers: 3, heads: 2 }];

const TWO: Grid[] = [
  { name: "encoder", layers: 2, heads: 2 },
  { name: "decoder", layers: 1, heads: 2 },
];

const heads = (text: string, grids = ONE) => [...parseHeads(text, grids).heads].sort().join(" ");

test("heads are named as on the command line", () => {
  assert.equal(heads("1.0"), "encoder:1.0");
  assert.equal(heads(" 1 . 0 , 2.1"), "encoder:1.0 encoder:2.1");
  assert.equal(heads("layer 1"), "encoder:1.0 encoder:1.1");
  assert.equal(heads("1.*"), "encoder:1.0 encoder:1.1");
  assert.equal(heads("Layers 1-2"), "encoder:1.0 encoder:1.1 encoder:2.0 encoder:2.1");
  assert.equal(parseHeads("all", ONE).heads.size, 6);
  assert.equal(heads("all but layers 0-1"), "encoder:2.0 encoder:2.1");
  assert.equal(heads(""), "");
  assert.equal(heads("encoder 1.1"), "encoder:1.1");
  assert.equal(heads("decoder: 0.1", TWO), "decoder:0.1");
});

test("what names no heads says so in words", () => {
  assert.match(parseHeads("3.0", ONE).error, /no head 3\.0: layers go from 0 to 2, heads from 0 to 1/);
  assert.match(parseHeads("layer 3", ONE).error, /no layer 3/);
  assert.match(parseHeads("layers 2-1", ONE).error, /runs backwards/);
  assert.match(parseHeads("1.0,", ONE).error, /empty place/);
  assert.match(parseHeads("x", ONE).error, /names no heads/);
  assert.match(parseHeads("1.0", TWO).error, /which stack/);
  assert.match(parseHeads("cross 0.0", TWO).error, /no cross/);
  assert.equal(parseHeads("1.0, x", ONE).heads.size, 0);
});

test("what only an atlas knows is left to the server", () => {
  for (const text of ["type:dense", "top 3 by entropy", "encoder: pattern: vertical"]) {
    const choice = parseHeads(text, ONE);
    assert.equal(choice.error, "");
    assert.ok(choice.lookedUp);
  }
});

test("printed heads are read back", () => {
  for (const [text, grids] of [
    ["1.0, 2.1", ONE],
    ["layer 0, 1.1", ONE],
    ["all", ONE],
    ["encoder layer 0, decoder 0.1", TWO],
    ["", ONE],
  ] as const) {
    assert.equal(printHeads(parseHeads(text, grids).heads, grids), text);
  }
});
