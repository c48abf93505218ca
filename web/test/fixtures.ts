// What several tests are about: an atlas of four heads, a text as a model saw it, and the neurons of a head.

import type { AtlasData, Colouring, Neurons, Seen } from "../src/data/api";

export const numbers = (values: (number | null)[], more: Partial<Colouring> = {}): Colouring => ({
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

export const kinds = (values: (number | null)[], labels: string[]): Colouring =>
  numbers(values, { key: "head_type", group: "types", title: "Kind", unit: "", kind: "category", labels });

export const ATLAS: AtlasData = {
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
      first_colouring: "head_type",
      first_head: 2,
      maps: [],
    },
  ],
};

export const LEVELS = Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

export const TOKENS = { pieces: ["a", "b"], words: ["a", "b"], word: [0, 1], segment: [0, 0], special: [false, false] };

export const SEEN: Seen = {
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

export const HEAD: Neurons = {
  stack: "encoder",
  layer: 0,
  head: 0,
  scale: 0.5,
  queries: [
    [1, 2],
    [0, -4],
  ],
  keys: [
    [2, 1],
    [-2, 3],
    [0, 0],
  ],
  bias: null,
  soft_cap: null,
  sink: null,
  visible: null,
  agrees: true,
  rotated: false,
  note: "",
};
