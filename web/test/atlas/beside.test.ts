import assert from "node:assert/strict";
import { test } from "node:test";
import { lookableIn } from "../../src/atlas/beside";
import type { AtlasData, Colouring } from "../../src/data/api";
import type { Source } from "../../src/data/source";

const no = () => Promise.reject(new Error("not asked for"));

const numbers = (values: (number | null)[], more: Partial<Colouring> = {}): Colouring => ({
  key: "k",
  group: "some_measure",
  title: "A title",
  unit: "nats",
  kind: "number",
  diverging: false,
  values,
  labels: null,
  stderr: null,
  about: "",
  ...more,
});

const kinds = (values: (number | null)[], labels: string[]): Colouring =>
  numbers(values, { key: "head_type", group: "types", title: "Kind", unit: "", kind: "category", labels });

const ATLAS: AtlasData = {
  id: "1",
  name: "",
  model: "",
  architecture: "",
  about: "",
  findings: [],
  command: "headscope explore demo atlas.nc",
  stacks: [
    {
      name: "encoder",
      layers: 2,
      heads: 2,
      colourings: [numbers([1, 2, 3, 4]), kinds([0, 0, 1, null], ["dense", "local"])],
      maps: [],
    },
  ],
};

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
