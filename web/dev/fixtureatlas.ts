/** A made-up atlas: its numbers are random, but the pages of heads and the colourings say the same. */

import type { AtlasData, Bar, Colouring, Finding, HeadPage, Section, TypicalSentence } from "../src/data/api";
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
    command: "headscope explore made-up made-up.nc",
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
        first_colouring: all[0]?.key ?? null,
        first_head: 0,
        maps: [
          { key: "mds", title: "MDS", about: "", points: places(0.35) },
          { key: "tsne", title: "t-SNE", about: "", points: places(0.18) },
        ],
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
      special: ["[CLS]", "[SEP]", "</s>"],
      strongest: [1, 2, 3],
      said: "much what it usually does",
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
    named: `${layer}.${head}`,
    stack: stack?.name ?? "encoder",
    layer,
    head,
    kind: kind === null ? null : (KINDS[kind] ?? null),
    sections: sectionsOf(options, next, value),
    notes: ["Lines across bars and columns are 95 % intervals."],
    examples: [1, 2, 3].map((at) => {
      const raw = words.map(() => next() ** 4);
      const total = raw.reduce((sum, one) => sum + one, 0);
      return {
        text: words.join(" "),
        words,
        marks: [at + 3, at],
        weights: raw.map((one) => one / total),
        note: `nsubj, right, sentence ${at}`,
      };
    }),
    typical: typicalOf(index),
  };
}

type Value = (key: string) => number | null;

/** Every kind of section that a page may have. */
function sectionsOf(options: FixtureOptions, next: () => number, value: Value): Section[] {
  const share = (label: string, most: number, mark: number): Bar => ({
    label,
    value: next() * most,
    mark,
    mark_name: "even attention",
  });
  const offsets = Array.from({ length: 17 }, (_, at) => at - 8).map((offset): Bar => {
    const known = (Math.abs(offset) <= 3 ? value(`offset_attention:offset=${offset}`) : 0.05 * next()) ?? 0;
    const error = 2 * (known * 0.08 + 0.003);
    const tick = offset % 2 === 0 ? `${offset}` : "";
    return { label: `offset ${offset}`, value: known, low: known - error, high: known + error, muted: !offset, tick };
  });
  const relations = RELATIONS.slice(0, 8).map((relation): Bar => {
    const accuracy = value(`dependency_accuracy:${relation}`) ?? 0;
    return {
      label: `${relation}, from the dependent`,
      value: accuracy,
      low: Math.max(0, accuracy - 0.05),
      high: Math.min(1, accuracy + 0.05),
      mark: 0.2 + 0.3 * next(),
      mark_name: "the word before",
      pale: accuracy < 0.6,
      note: "dependency, 311 cases",
    };
  });
  const change = value("ablation:f1") ?? 0;
  const effect = { label: "F1", value: change, low: change - 1, high: change + 1, pale: Math.abs(change) < 1 };
  const windows = Array.from({ length: 16 }, (_, window) => share(`window ${window}`, 0.1 * (1 - window / 20), 0.06));
  const cells = Array.from({ length: 32 }, (_, row) =>
    Array.from({ length: 32 }, (_, column) => Math.exp(-Math.abs(row - column - 1)) * (0.5 + 0.5 * next())),
  );
  const near = Array.from({ length: 6 }, (_, rank) => ({
    head: `${Math.floor(next() * options.layers)}.${Math.floor(next() * options.heads)}`,
    distance: 0.02 * (rank + 1) + 0.01 * next(),
  }));
  const roles = ["[CLS]", "[SEP]", "full stops", "commas", "everything else"].map((role) => share(role, 0.5, 0.05));
  return [
    {
      key: "offset_attention",
      title: "Attention by offset",
      charts: [{ kind: "columns", bars: offsets, caption: "tokens back (−) or ahead (+)" }],
    },
    { key: "role_attention", title: "What it looks at", charts: [{ bars: roles }], about: "The tick is made up." },
    {
      key: "relations",
      title: "Relations it finds",
      charts: [{ title: "share of right guesses", bars: relations, is_share: true }],
    },
    { key: "ablation", title: "When it is switched off", charts: [{ title: "made-up questions", bars: [effect] }] },
    { key: "explanation", title: "Why it does that", said: ["2 neurons (12, 4) carry 60% of its score, of 16."] },
    { key: "head_distance", title: "Heads most like it", heads: near },
    { key: "example_map", title: "On one text of the corpus", map: { cells, queries: 96, keys: 96 } },
    { key: "distance_features", title: "How far it looks", charts: [{ kind: "columns", bars: windows }] },
  ];
}
