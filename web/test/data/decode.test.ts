import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { fromBase64, inflate, inflateJson } from "../../src/data/decode";

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
