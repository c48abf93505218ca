/** A made-up atlas: its numbers are random, but the pages of heads and the colourings say the same. */

import type { AtlasData, Colouring, Finding, HeadPage, TypicalSentence } from "../src/data/api";
import { bell, type FixtureOptions, numbers, ODD, WORDS } from "./made";

const RELATIONS = ["nsubj", "obj", "det", "amod", "case", "advmod", "conj", "mark", "aux", "compound"];
const KINDS = ["dense", "local", "vertical", "mixed", "block", "diagonal", "distant"];

function colourings(options: FixtureOptions): Colouring[] {
  const count = options.layers * options.heads;
  const next = numbers(7);
  const each = (of: (index: number) => number | null) => Array.from({ length: count }, (_, index) => of(index));
  const number = (
    key: string,
    group: string,
    title: string,
    unit: string,
    diverging: boolean,
    of: (index: number) => number | null,
  ): Colouring => {
    const values = each(of);
    return {
      key,
      group,
      title,
      unit,
      kind: "number",
      diverging,
      values,
      labels: null,
      stderr: values.map((value) => (value === null ? null : Math.abs(value) * 0.07 + 0.002)),
      about: `${title}, made up for trying.`,
    };
  };
  const category = (key: string, group: string, title: string, labels: string[]): Colouring => ({
    key,
    group,
    title,
    unit: "",
    kind: "category",
    diverging: false,
    values: each((index) => (index % 17 === 0 ? null : Math.floor(next() ** 1.5 * labels.length))),
    labels,
    stderr: null,
    about: `${title}, made up for trying.`,
  });
  return [
    category("head_type", "types", "Kind of head", KINDS),
    number(
      "entropy:all",
      "entropy",
      "Entropy of attention",
      "nats",
      false,
      (index) => 0.4 + 3 * next() * (1 - index / count / 2),
    ),
    ...[-3, -2, -1, 0, 1, 2, 3].map((offset) =>
      number(
        `offset_attention:offset=${offset}`,
        "offset_attention",
        `Attention to offset ${offset}`,
        "share of attention",
        false,
        () => next() ** 3 * 0.8,
      ),
    ),
    category("pattern", "patterns", "Most frequent pattern", [
      "vertical",
      "diagonal",
      "vertical + diagonal",
      "block",
      "heterogeneous",
    ]),
    ...RELATIONS.map((name) =>
      number(
        `dependency_accuracy:${name}`,
        "dependency_accuracy",
        `Accuracy for ${name}`,
        "share of right guesses",
        false,
        (index) => (index % 29 === 3 ? null : next() ** 2),
      ),
    ),
    number("ablation:f1", "ablation", "Change of F1 when switched off", "points", true, () => bell(next) * 1.4 - 0.4),
    number("compare:js", "compare", "Change of entropy after fine-tuning", "nats", true, () => bell(next) * 0.2),
  ];
}

export function atlasOf(options: FixtureOptions): AtlasData {
  const next = numbers(11);
  const all = colourings(options);
  const kind = all[0];
  const spot = (index: number, wide: number): [number, number] => {
    const angle = ((kind?.values[index] ?? 0) * 2 * Math.PI) / KINDS.length;
    return [Math.cos(angle) + wide * bell(next), Math.sin(angle) + wide * bell(next)];
  };
  const places = (wide: number) =>
    Array.from({ length: options.layers * options.heads }, (_, index) => spot(index, wide));
  return {
    id: "made-up",
    name: "made-up.nc",
    model: "made-up",
    architecture: "bert",
    about: "500 texts, 61,234 tokens",
    stacks: [
      {
        name: options.causal ? "decoder" : "encoder",
        layers: options.layers,
        heads: options.heads,
        colourings: all,
        maps: { mds: places(0.35), tsne: places(0.18) },
      },
    ],
    findings: [
      finding("Head ", "3.2", " looks at the token before in 9 of 10 cases."),
      finding("Half of the heads of the last layers rest on [SEP]."),
    ].map((one) => ({ ...one, stack: options.causal ? "decoder" : "encoder" })),
  };
}

function finding(...texts: string[]): Finding {
  const isHead = (text: string) => /^\d+\.\d+$/.test(text);
  return {
    ...{ topic: "Habits", stack: "", value: 0.9, low: null, high: null, units: "1" },
    ...{ control: null, control_name: "", verdict: null },
    heads: texts.filter(isHead),
    parts: texts.map((text) => ({ text, head: isHead(text) ? text : null })),
  };
}

/** Sentences with a habit: the word before, [SEP], or whatever comes; a third of the heads have none. */
function typicalOf(index: number): TypicalSentence[] {
  if (index % 3 === 2) return [];
  const next = numbers(77 + index);
  return [9, 14, 5].map((count, rank) => {
    const words = ["[CLS]", ...WORDS.slice(rank, rank + count), ...(rank === 1 ? ODD.slice(0, 3) : []), ".", "[SEP]"];
    const last = words.length - 1;
    return {
      words,
      keys: index % 7 === 4 ? ["Die", "Katze", "saß", "auf", "der", "Matte", "</s>"] : null,
      looks_at: words.map((_, at) => {
        if (index % 7 === 4) return at % 7;
        return index % 3 === 0 ? Math.max(0, at - 1) : next() < 0.6 ? last : Math.floor(next() * words.length);
      }),
      weights: words.map(() => 0.25 + 0.75 * next()),
      likeness: 0.97 - 0.2 * rank,
    };
  });
}

export function pageOf(options: FixtureOptions, atlas: AtlasData, layer: number, head: number): HeadPage {
  const index = layer * options.heads + head;
  const next = numbers(1000 + index);
  const stack = atlas.stacks[0];
  const value = (key: string) => stack?.colourings.find((one) => one.key === key)?.values[index] ?? null;
  const kind = value("head_type");
  const words = [...WORDS.slice(0, 14), ODD[0] ?? "", ODD[4] ?? ""];
  return {
    stack: stack?.name ?? "encoder",
    layer,
    head,
    kind: kind === null ? null : (KINDS[kind] ?? null),
    pattern: { vertical: 0.61, diagonal: 0.22, block: 0.09, heterogeneous: 0.08 },
    profile: Array.from({ length: 17 }, (_, at) => at - 8).map((offset) => {
      const share = Math.abs(offset) <= 3 ? value(`offset_attention:offset=${offset}`) : 0.05 * next();
      const error = 2 * ((share ?? 0) * 0.08 + 0.003);
      return { offset, value: share, low: (share ?? 0) - error, high: (share ?? 0) + error };
    }),
    distances: [
      ...["[CLS]", "[SEP]", "commas", "full stops", "itself"].map((feature) => ({
        feature,
        value: next() * 0.3,
        uniform: 0.03,
      })),
      ...Array.from({ length: 16 }, (_, window) => ({
        feature: `w${`${window}`.padStart(2, "0")}`,
        value: next() * 0.1 * (1 - window / 20),
        uniform: 0.06,
      })),
    ],
    roles: ["[CLS]", "[SEP]", "full stops", "commas", "everything else"].map((role) => ({
      role,
      value: next() * 0.5,
      low: null,
      high: null,
      uniform: 0.05,
    })),
    habits: ["the next word", "the previous word", "the same word in the other sentence"].map((role) => ({
      role,
      value: next() * 0.4,
      low: null,
      high: null,
      uniform: 0.04,
    })),
    nearest: Array.from({ length: 6 }, (_, rank) => ({
      head: `${Math.floor(next() * options.layers)}.${Math.floor(next() * options.heads)}`,
      distance: 0.02 * (rank + 1) + 0.01 * next(),
    })),
    relations: RELATIONS.map((relation) => {
      const accuracy = value(`dependency_accuracy:${relation}`);
      return {
        relation,
        accuracy,
        low: accuracy === null ? null : Math.max(0, accuracy - 0.05),
        high: accuracy === null ? null : Math.min(1, accuracy + 0.05),
        baseline: 0.2 + 0.3 * next(),
        baseline_name: "the word before",
        probe: "dependency",
        direction: "from the dependent",
        what: "share of right guesses",
        cases: 311,
        verdict: accuracy !== null && accuracy > 0.6 ? ("above" as const) : ("unclear" as const),
      };
    }),
    relations_tested: RELATIONS.length,
    ablation: ["F1", "exact match"].map((metric) => {
      const change = metric === "F1" ? value("ablation:f1") : bell(next);
      return {
        metric,
        change,
        low: (change ?? 0) - 1,
        high: (change ?? 0) + 1,
        significant: Math.abs(change ?? 0) > 1,
        data: "made-up questions",
        unit: "points",
        edit: "output set to zero",
        higher_is_better: true,
        edits: options.layers * options.heads,
        corrected: true,
        possible: true,
      };
    }),
    compare: [
      { what: "change of entropy (nats)", value: value("compare:js"), low: -0.1, high: 0.2, other: "made-up-qa" },
    ],
    examples: [1, 2, 3].map((at) => {
      const raw = words.map(() => next() ** 4);
      const total = raw.reduce((sum, one) => sum + one, 0);
      return {
        text: words.join(" "),
        words,
        marks: [at + 3, at],
        weights: raw.map((one) => one / total),
        looked_at: at === 3,
        note: `nsubj, right, sentence ${at}`,
      };
    }),
    typical: typicalOf(index),
    example_map: {
      cells: Array.from({ length: 32 }, (_, row) =>
        Array.from({ length: 32 }, (_, column) => Math.exp(-Math.abs(row - column - 1)) * (0.5 + 0.5 * next())),
      ),
      queries: 96,
      keys: 96,
    },
    explanation:
      index % 2
        ? null
        : {
            words: ["2 neurons (12, 4) carry 60% of its score, of 16; as many at random carry 12%."],
            counts: [1, 2, 4, 8],
            score_share: [0.41, 0.6, 0.74, 0.88],
            score_error: [0.02, 0.02, 0.01, 0.01],
            score_share_random: [0.06, 0.12, 0.25, 0.5],
            score_pattern: [0.3, 0.5, 0.7, 0.9],
            score_pattern_random: [0.05, 0.1, 0.2, 0.4],
            apart_what: ["[SEP] from other keys"],
            apart_auc: [0.89],
            apart_error: [0.01],
            neuron_what: ["[SEP] from other keys"],
            neuron_number: [12],
            neuron_auc: [0.97],
            neuron_low: [0.92],
            neuron_high: [1],
            replaced: ["token", "position", "all"],
            left: [-0.1, 0.65, 0],
            left_error: [0.02, 0.01, 0],
          },
  };
}
