import assert from "node:assert/strict";
import { test } from "node:test";
import { firstNamed, withMinus } from "../../src/atlas/findings";
import type { AtlasData } from "../../src/data/api";

test("the first head that a finding about the stack names", () => {
  const finding = (stack: string, head: string | null) => ({
    stack,
    parts: [
      { text: "Head ", head: null },
      { text: "x", head },
    ],
  });
  const atlas = {
    findings: [
      finding("encoder", null),
      finding("decoder", "0.1"),
      finding("encoder", "99.1"),
      finding("encoder", "2.6"),
    ],
  } as unknown as AtlasData;
  const grid = { name: "encoder", layers: 12, heads: 8 };
  assert.equal(firstNamed(atlas, grid), 22);
  assert.equal(firstNamed(atlas, { ...grid, name: "decoder" }), 1);
  assert.equal(firstNamed(atlas, { ...grid, name: "cross" }), null);
});

test("a minus is no hyphen", () => {
  assert.equal(withMinus("-5.8 points (-0.1 to 0.2), well-known, 3-4"), "−5.8 points (−0.1 to 0.2), well-known, 3-4");
});
