/** A source of made-up but consistent data, to try the views without a model: `node dev/build.mjs FOLDER`. */

import type { Guess, Neurons, Predicted, Seen, Tokens } from "../src/data/api";
import { layerMaps, type Source, SourceError } from "../src/data/source";
import { queryScores } from "../src/neuron/score";
import { atlasOf, pageOf } from "./fixtureatlas";
import { bell, type FixtureOptions, numbers, ODD, SMALL, WORDS } from "./made";

function tokens(count: number): Tokens {
  const body = Array.from(
    { length: Math.max(0, count - 3) },
    (_, index) => (index > 4 && index < 10 ? ODD[index - 5] : WORDS[index % WORDS.length]) ?? "",
  );
  const middle = Math.floor(body.length / 2);
  const pieces = ["[CLS]", ...body.slice(0, middle), "[SEP]", ...body.slice(middle), "[SEP]"].slice(0, count);
  const special = pieces.map((piece) => /^\[(CLS|SEP)\]$/.test(piece));
  let word = -1;
  return {
    pieces,
    words: pieces.filter((_, index) => !special[index]),
    word: special.map((is) => (is ? -1 : ++word)),
    segment: special.map((is, index) => (is ? -1 : index <= middle ? 0 : 1)),
    special,
  };
}

/** Queries and keys in which a few neurons look for the token before, a separator, or the same token. */
function neuronsOf(options: FixtureOptions, seen: Tokens, layer: number, head: number): Neurons {
  const next = numbers(1 + layer * 97 + head);
  const { width } = options;
  const pieces = seen.pieces.length;
  const noise = () => Array.from({ length: width }, () => 0.35 * bell(next));
  const [queries, keys] = [Array.from({ length: pieces }, noise), Array.from({ length: pieces }, noise)];
  const habit = (layer + head) % 3;
  const chosen = Array.from({ length: 4 }, () => Math.floor(next() * width));
  for (let place = 0; place < pieces; place++) {
    chosen.forEach((neuron, number) => {
      const [q, k] = [queries[place], keys[place]];
      if (!q || !k) return;
      const phase = (place * (number + 1)) / 3;
      if (habit === 0)
        [q[neuron], k[neuron]] = [
          number % 2 ? 5 * Math.sin(phase - 1 / 3) : 5 * Math.cos(phase - 1 / 3),
          number % 2 ? 5 * Math.sin(phase) : 5 * Math.cos(phase),
        ];
      else if (habit === 1) [q[neuron], k[neuron]] = [3, seen.pieces[place] === "[SEP]" ? 4 : -2];
      else k[neuron] = 2 * bell(next);
    });
  }
  const round = (rows: number[][]) => rows.map((row) => row.map((value) => Number(value.toFixed(4))));
  const bias = options.biased
    ? Array.from({ length: pieces }, (_, query) =>
        Array.from({ length: pieces }, (_, key) => -0.2 * Math.abs(query - key)),
      )
    : null;
  const visible = options.causal
    ? Array.from({ length: pieces }, (_, query): [number, number] => [0, query + 1])
    : null;
  return {
    stack: options.causal ? "decoder" : "encoder",
    layer,
    head,
    scale: 1 / Math.sqrt(width),
    queries: round(queries),
    keys: round(keys),
    bias,
    soft_cap: null,
    sink: null,
    visible,
    agrees: true,
    rotated: options.rotated,
    note: "",
  };
}

export const LEVELS_OF_FIXTURE = Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

function codeOf(weight: number): number {
  return Math.round(Math.sqrt(weight) * 255);
}

function guess(place: string, options: readonly [string, number][]): Guess {
  return { place, options: options.map(([text, probability]) => ({ text, probability })) };
}

function predicted(text: string, edits: number): Predicted {
  if (text.includes("fail")) throw new SourceError("the text has 700 tokens; this model reads at most 512: shorten it");
  const masks = Math.max(1, text.split("[MASK]").length - 1);
  const before = Array.from({ length: masks }, (_, at) =>
    guess(`[MASK] ${at + 1}`, [
      ["were", 0.62],
      ["lay", 0.17],
      ["was", 0.08],
      ["are", 0.04],
      ["<script>", 0.009],
    ]),
  );
  const after = Array.from({ length: masks }, (_, at) =>
    at % 2
      ? before[at]!
      : guess(`[MASK] ${at + 1}`, [
          ["was", 0.41],
          ["were", 0.29],
          ["is", 0.07],
          ["are", 0.05],
          ["lay", 0.00004],
        ]),
  );
  return { task: "mlm", before, after: edits > 0 ? after : before, note: "" };
}

export function fixture(options: FixtureOptions = SMALL): Source {
  const text = tokens(options.tokens);
  const stack = options.causal ? ("decoder" as const) : ("encoder" as const);
  const seen: Seen = {
    id: "1",
    model: "made-up",
    architecture: options.causal ? "gpt2" : "bert",
    text_a: "",
    text_b: null,
    source: text,
    target: null,
    stacks: [
      {
        name: stack,
        layers: options.layers,
        heads: options.heads,
        queries: "source",
        keys: "source",
        causal: options.causal,
      },
    ],
    levels: LEVELS_OF_FIXTURE,
    max_error: 0.002,
    word_error: 0.002,
    fine: false,
    rotated: options.rotated,
    has_neurons: true,
    neuron_heads: null,
    note: "",
  };
  const atlas = atlasOf(options);
  const later = <T>(value: () => T, wait = 0): Promise<T> =>
    new Promise((done, fail) =>
      setTimeout(() => {
        try {
          done(value());
        } catch (error) {
          fail(error as Error);
        }
      }, wait),
    );
  return {
    kind: "server",
    about: {
      version: "0.0",
      atlases: [{ id: "made-up", name: "made-up.nc", model: "made-up" }],
      models: [
        { name: "made-up", architecture: "bert", task: "mlm", max_length: 512, pairs: true },
        { name: "made-up-qa", architecture: "bert", task: "qa", max_length: 512, pairs: true },
      ],
    },
    start: "",
    current: seen,
    maps: (name, layer) =>
      later(() => {
        const size = text.pieces.length;
        const codes = new Uint8Array(options.heads * size * size);
        for (let head = 0; head < options.heads; head++) {
          const neurons = neuronsOf(options, text, layer, head);
          for (let query = 0; query < size; query++)
            codes.set(queryScores(neurons, query).weights.map(codeOf), (head * size + query) * size);
        }
        return layerMaps(seen, name, layer, codes);
      }),
    neurons: (_, layer, head) => later(() => neuronsOf(options, text, layer, head)),
    atlas: () => later(() => atlas),
    headPage: (_id, _stack, layer, head) => later(() => pageOf(options, atlas, layer, head)),
    predict: (request, signal) =>
      later(
        () => {
          signal?.throwIfAborted();
          return predicted(request.text_a, request.edits?.length ?? 0);
        },
        request.text_a.includes("slow") ? 3000 : 150,
      ),
  };
}
