import assert from "node:assert/strict";
import { test } from "node:test";
import { lookableIn } from "../../src/atlas/beside";
import { coloursOf, firstColouring, lookAt, rampName } from "../../src/atlas/data";
import {
  answers,
  binOf,
  cellTexts,
  extent,
  grouped,
  keeps,
  kept,
  labelsOf,
  parsePick,
  printPick,
  shown,
  shownValue,
  spread,
} from "../../src/atlas/filter";
import { withMinus } from "../../src/atlas/findings";
import { described, toggledHead, withExtra } from "../../src/atlas/frame";
import { partsOf } from "../../src/atlas/names";
import type { AtlasData, Colouring } from "../../src/data/api";
import type { Source } from "../../src/data/source";
import { inBox, placedIn } from "../../src/map/place";
import { rampOf } from "../../src/parts/colour";
import { cellOf, inkOn, moved, sideOf } from "../../src/parts/headgrid";
import { DEFAULTS } from "../../src/shell/state";

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

test("extent: from 0, stretched, or as far to both sides", () => {
  assert.deepEqual(extent(numbers([0.2, null, 0.8])), [0, 0.8]);
  assert.deepEqual(extent(numbers([0.2, null, 0.8]), true), [0.2, 0.8]);
  assert.deepEqual(extent(numbers([-0.2, -0.1])), [-0.2, 0]);
  assert.deepEqual(extent(numbers([-1, 3], { diverging: true })), [-3, 3]);
  assert.deepEqual(extent(numbers([0, 0], { diverging: true })), [-1, 1]);
  assert.deepEqual(extent(numbers([null, NaN])), [0, 1]);
  assert.equal(spread(numbers([null])), null);
});

test("bins: both ends inside, no value no bin", () => {
  assert.equal(binOf(0, 0, 1, 64), 0);
  assert.equal(binOf(1, 0, 1, 64), 63);
  assert.equal(binOf(0.5, 0, 1, 64), 32);
  assert.equal(binOf(9, 0, 1, 64), 63);
  assert.equal(binOf(-9, 0, 1, 64), 0);
  assert.equal(binOf(null, 0, 1, 64), null);
  assert.equal(binOf(NaN, 0, 1, 64), null);
  assert.equal(binOf(2, 2, 2, 64), 31);
});

test("colours: 0 of a diverging one is the middle, orange below, blue above", () => {
  const ramp = rampOf("signed", false);
  const colours = coloursOf(numbers([-2, 0, 2, null], { diverging: true }), false, false);
  assert.deepEqual(colours, [ramp[0], ramp[32], ramp[63], ""]);
  assert.equal(rampName(numbers([1])), "amount");
  assert.equal(rampName(numbers([1], { unit: "share of attention" })), "share");
});

test("filters in links", () => {
  for (const text of ["above:0.5", "below:-0.1", "is:dense", "is:vertical: + diagonal"])
    assert.equal(printPick(parsePick(text)), text);
  for (const text of ["", "above:", "above:x", "over:1", "is:"]) assert.deepEqual(parsePick(text), { how: "none" });
});

test("filters keep the heads asked for, and those without a value only when nothing is asked", () => {
  const one = numbers([0.1, 0.5, null]);
  const keptBy = (text: string) => one.values.map((_, index) => keeps(parsePick(text), one, index));
  assert.deepEqual(keptBy(""), [true, true, true]);
  assert.deepEqual(keptBy("above:0.5"), [false, true, false]);
  assert.deepEqual(keptBy("below:0.1"), [true, false, false]);
  const kind = kinds([0, 1, null], ["dense", "local"]);
  assert.deepEqual(
    kind.values.map((_, index) => keeps(parsePick("is:local"), kind, index)),
    [false, true, false],
  );
});

test("search: heads, layers, labels of any category", () => {
  assert.ok(answers("", 0, 0, []));
  assert.ok(answers("3.2", 3, 2, []) && !answers("3.2", 3, 20, []));
  assert.ok(
    answers("3.", 3, 7, []) && answers("3.*", 3, 7, []) && answers("layer 3", 3, 7, []) && answers("head 7", 3, 7, []),
  );
  assert.ok(!answers("layer 1", 11, 0, []));
  assert.ok(answers("9.9, 3.2", 3, 2, []));
  assert.ok(answers("DENS", 0, 0, ["dense"]) && !answers("local", 0, 0, ["dense"]));
  const all = [numbers([1, 2]), kinds([0, null], ["dense"])];
  assert.deepEqual([labelsOf(all, 0), labelsOf(all, 1)], [["dense"], []]);
  assert.deepEqual(kept(all, all[0]!, 2, parsePick("above:1"), "dense"), [true, false]);
});

test("groups: in order, every word of the search must be there", () => {
  const all = [
    numbers([], { key: "a", group: "offset_attention", title: "Attention to the next token" }),
    numbers([], { key: "b", group: "entropy", title: "Entropy" }),
    numbers([], { key: "c", group: "offset_attention", title: "Attention to the previous token" }),
  ];
  assert.deepEqual(
    grouped(all, "").map(({ name, members }) => [name, members.map(({ key }) => key)]),
    [
      ["offset_attention", ["a", "c"]],
      ["entropy", ["b"]],
    ],
  );
  assert.deepEqual(
    grouped(all, "offset previous").map(({ members }) => members.map(({ key }) => key)),
    [["c"]],
  );
  assert.deepEqual(grouped(all, "nothing"), []);
});

test("numbers in words", () => {
  assert.equal(shown(0.12345), "0.123");
  assert.equal(shown(-12.345), "−12.3");
  assert.equal(shown(1234.5), "1235");
  assert.equal(shown(0), "0");
  assert.equal(shown(null), "–");
  assert.equal(shown(-0.00072), "−0.0007");
  assert.equal(shown(-0.000012), "−1.2e−5");
  assert.equal(shown(8.2e-8, 3, 0.7), "< 0.001");
  assert.equal(shown(-8.2e-8, 3, 0.7), "> −0.001");
  assert.equal(shown(8.2e-8, 3, 1e-6), "8.2e−8", "among its like it is not nothing");
  assert.equal(shownValue(numbers([4.9e-9, 0.3], { unit: "share of attention" }), 0), "< 0.001 share of attention");
  assert.equal(shownValue(numbers([0.5], { stderr: [0.01] }), 0), "0.500 ± 0.010 nats");
  assert.equal(shownValue(numbers([0.5], { stderr: [1e-5] }), 0), "0.500 ± under 0.001 nats");
  assert.equal(shownValue(numbers([null]), 0), "no value");
  assert.equal(shownValue(kinds([1], ["a", "b"]), 0), "b");
});

const ATLAS: AtlasData = {
  id: "1",
  name: "",
  model: "",
  architecture: "",
  about: "",
  findings: [],
  stacks: [
    {
      name: "encoder",
      layers: 2,
      heads: 2,
      colourings: [numbers([1, 2, 3, 4]), kinds([0, 0, 1, null], ["dense", "local"])],
      maps: {},
    },
  ],
};

test("a look at an atlas: colouring, selection and filter together", () => {
  const look = lookAt(
    ATLAS,
    { ...DEFAULTS, colour: "k", layer: 1, heads: [1], selected: ["0.1", "1.0"], extra: { "x-pick": "above:3" } },
    false,
  );
  assert.equal(look?.colouring?.key, "k");
  assert.equal(lookAt(ATLAS, DEFAULTS, false)?.colouring?.key, "head_type"); // kinds first
  assert.deepEqual(look?.bright, [false, false, true, false]);
  assert.equal(look?.current, 3);
  assert.equal(lookAt(ATLAS, { ...DEFAULTS, layer: 9, heads: [1] }, false)?.current, null);
  assert.equal(lookAt(ATLAS, { ...DEFAULTS, colour: "head_type" }, false)?.colouring?.title, "Kind");
  assert.equal(lookAt({ ...ATLAS, stacks: [] }, DEFAULTS, false), null);
  assert.equal(described(look!, 2), "Head 1.0: 3.000 nats · local");
});

test("a head is open from the start: the one the first finding names, else one of the rarest kind or the largest", () => {
  const told = { ...ATLAS, findings: ["Nothing named here: 0.1.", "Heads 1.1 and 0.0 do it."] };
  assert.equal(lookAt(told, DEFAULTS, false)?.current, 3);
  assert.equal(lookAt(told, { ...DEFAULTS, layer: 0, heads: [1] }, false)?.current, 1);
  assert.equal(lookAt(ATLAS, DEFAULTS, false)?.current, 2, "one head is local, two are dense");
  const measured = { ...ATLAS, stacks: [{ ...ATLAS.stacks[0]!, colourings: [numbers([1, -7, null, 2])] }] };
  assert.equal(lookAt(measured, DEFAULTS, false)?.current, 1);
});

test("colours to begin with: kinds, else effects, else entropy", () => {
  const all = ["x", "entropy:a", "ablation_change:metric=f1", "head_type"].map((key) => numbers([1], { key }));
  assert.equal(firstColouring(all)?.key, "head_type");
  assert.equal(firstColouring(all.slice(0, 3))?.key, "ablation_change:metric=f1");
  assert.equal(firstColouring(all.slice(0, 2))?.key, "entropy:a");
  assert.equal(firstColouring([]), null);
});

test("the search for heads is not the one for words", () => {
  assert.deepEqual(lookAt(ATLAS, { ...DEFAULTS, q: "the" }, false)?.bright, [true, true, true, true]);
  assert.deepEqual(lookAt(ATLAS, { ...DEFAULTS, hq: "local" }, false)?.bright, [false, false, true, false]);
});

test("heads that findings name", () => {
  const grid = { name: "encoder", layers: 12, heads: 8 };
  const named = (text: string) => partsOf(text, grid).flatMap(({ text, head }) => (head === null ? [] : [text]));
  assert.deepEqual(
    named("Head 2.6 gives 98.0% of its attention. 4 heads give it more than half: 2.6, 4.6, 9.2 and 2.7."),
    ["2.6", "2.6", "4.6", "9.2", "2.7"],
  );
  assert.deepEqual(named("Heads 0.3 and 8.1 are alike: 0.058 nats apart, 8.4% of it"), ["0.3", "8.1"]);
  assert.deepEqual(named("The most is lost with head 2.5: -0.5 points. Numbers: 0.5 and 0.7."), ["2.5"]);
  assert.deepEqual(named("head 99.1, and heads 3.20 do not exist"), []);
  const text = "By gradient, heads 2.5, 4.7 and 4.5: turning head 2.5 down";
  assert.equal(
    partsOf(text, grid)
      .map((part) => part.text)
      .join(""),
    text,
  );
  assert.equal(withMinus("-5.8 points (-0.1 to 0.2), well-known, 3-4"), "−5.8 points (−0.1 to 0.2), well-known, 3-4");
});

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

test("what is written into cells", () => {
  assert.deepEqual(cellTexts(numbers([0.1234, null, -0.001, -2])), ["0.12", "", "0.00", "−2.00"]);
  assert.deepEqual(cellTexts(numbers([0.01, 0.0004])), ["0.010", "0.000"]);
  assert.deepEqual(cellTexts(kinds([0], ["dense"])), []);
  assert.equal(inkOn("#ffffff"), "#1b1f24");
  assert.equal(inkOn("#102030"), "#ffffff");
});

test("cells fill the room, and do not leave it", () => {
  const grid = { name: "encoder", layers: 12, heads: 8 };
  assert.deepEqual(cellOf(grid, 602, 726), { wide: 71, high: 58 });
  const { wide, high } = cellOf(grid, 366, 380);
  assert.ok(wide * 8 <= 338 && high * 12 <= 354 && high <= wide, `${wide} x ${high}`);
  assert.deepEqual(cellOf(grid, 2000, 400), { wide: 45, high: 31 }, "not much wider than high");
  assert.equal(cellOf({ name: "", layers: 48, heads: 64 }, 600, 400).wide, 9);
});

test("selection and what views keep", () => {
  assert.deepEqual(toggledHead(["0.1"], "1.0"), ["0.1", "1.0"]);
  assert.deepEqual(toggledHead(["0.1", "1.0"], "0.1"), ["1.0"]);
  assert.deepEqual(withExtra({ ...DEFAULTS, extra: { "x-a": "1" } }, "x-b", "2"), {
    extra: { "x-a": "1", "x-b": "2" },
  });
  assert.deepEqual(withExtra({ ...DEFAULTS, extra: { "x-a": "1" } }, "x-a", ""), { extra: {} });
});

test("arrow keys in the grid stop at its edges", () => {
  const grid = { name: "encoder", layers: 2, heads: 3 };
  assert.equal(moved(0, "ArrowRight", grid), 1);
  assert.equal(moved(0, "ArrowDown", grid), 3);
  assert.equal(moved(5, "ArrowRight", grid), 5);
  assert.equal(moved(0, "ArrowUp", grid), 0);
  assert.equal(moved(null, "ArrowUp", grid), 0);
  assert.equal(moved(0, "x", grid), null);
  assert.ok(sideOf({ name: "", layers: 12, heads: 12 }, 366, 44) * 12 <= 340);
});

test("the map keeps proportions, and its brush works from any corner", () => {
  const places = placedIn(
    [
      [0, 0],
      [4, 0],
      [0, 2],
    ],
    132,
  );
  assert.deepEqual(places, [
    [16, 91],
    [116, 91],
    [16, 41],
  ]);
  assert.deepEqual(inBox(places, { from: [120, 95], to: [10, 80] }), [0, 1]);
  assert.deepEqual(placedIn([[1, 1]], 100), [[50, 50]]);
});
