import assert from "node:assert/strict";
import { test } from "node:test";
import { lookableIn } from "../../src/atlas/beside";
import type { Source } from "../../src/data/source";
import { ATLAS } from "../fixtures";

const no = () => Promise.reject(new Error("not asked for"));

test("a head can be looked at where there is a model of the atlas's name", () => {
  const model = (name: string) => ({ name, architecture: "", task: null, max_length: null, pairs: true });
  const about = { version: "", atlases: [], models: [model("demo"), model("demo-qa")] };
  const server = { kind: "server" as const, about, start: "", current: null, seen: no, maps: no, neurons: no };
  const [stack] = ATLAS.stacks;
  const titles = (name: string, source: Source) =>
    lookableIn({ source, seen: null }, { atlas: { ...ATLAS, model: name }, stack: stack! }).map(({ name }) => name);
  assert.deepEqual(titles("demo-qa", server), ["head", "matrix", "neuron"]);
  assert.deepEqual(titles("other", server), []);
  const { neurons: _, ...without } = server;
  assert.deepEqual(titles("demo", without), ["head", "matrix"]);
  assert.deepEqual(titles("demo", { kind: "file", about, start: "", current: null }), []);
});
