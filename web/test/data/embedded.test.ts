import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import type { Embedded } from "../../src/data/api";
import { bytesOf, embeddedSource, widgetSource } from "../../src/data/embedded";
import { SEEN } from "../fixtures";

const ABOUT = { version: "1", models: [], atlases: [] };

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
