/**
 * The data interface, as headscope.pages.shapes defines it.
 *
 * Made by tools/web_types.py from the server's OpenAPI description; do not edit.
 */

/** What the source of a page has. */
export interface About {
  version: string;
  models: ModelInfo[];
  atlases: AtlasInfo[];
  views?: ViewInfo[];
  start?: string;
}

/** The same text weighed in another way: its chunks are named {weigh}/maps/{stack}/{layer}. */
export interface AlsoStored {
  levels: (number | null)[];
  max_error: number;
  word_error: number;
  fine?: boolean;
  signed?: boolean;
  weigh: "looked" | "moved" | "signed";
}

/** A text with arrows, as a line of `headscope find --arrows` holds it. */
export interface ArrowLine {
  text: string;
  arrows: [[number, number], [number, number]][];
}

/** An atlas as the atlas view and the map view show it. */
export interface AtlasData {
  id: string;
  name: string;
  model: string;
  architecture: string;
  about: string;
  stacks: AtlasStack[];
  findings: Finding[];
  command: string;
}

/** An atlas that can be opened. */
export interface AtlasInfo {
  id: string;
  name: string;
  model: string;
}

/** The heads of one stack, in every colour the atlas has for them. */
export interface AtlasStack {
  name: string;
  layers: number;
  heads: number;
  module_layers?: number[];
  colourings: Colouring[];
  first_colouring?: string | null;
  first_measures?: [string, string] | null;
  first_head?: number | null;
  maps: HeadMap[];
  stacked?: Stacked | null;
}

/** One number of a head: drawn as a bar or column, with its interval, beside what it is held against. */
export interface Bar {
  label: string;
  value: number | null;
  low?: number | null;
  high?: number | null;
  mark?: number | null;
  mark_name?: string;
  moved?: number | null;
  moved_low?: number | null;
  moved_high?: number | null;
  verdict?: "above" | "below" | "unclear" | "too few" | null;
  pale?: boolean;
  worse?: boolean | null;
  muted?: boolean;
  tick?: string;
  note?: string;
}

/** A sentence on what a head does, and the number behind it beside what it is held against. */
export interface CardLine {
  text: string;
  bar?: Bar | null;
}

/** Numbers on one scale: a row each (bars), or side by side (columns). */
export interface Chart {
  title?: string;
  kind?: "bars" | "columns";
  bars: Bar[];
  is_share?: boolean;
  caption?: string;
}

/** Where a chunk lies in the widget's blob. */
export interface Chunk {
  key: string;
  start: number;
  length: number;
}

/** One number or kind for every head of a stack. */
export interface Colouring {
  key: string;
  group: string;
  title: string;
  unit: string;
  kind: "number" | "category";
  diverging: boolean;
  values: (number | null)[];
  labels?: string[] | null;
  stderr?: (number | null)[] | null;
  about: string;
  weigh?: "looked" | "moved";
  other?: string | null;
  rank?: string | null;
}

/** Sentences, one a line; a line of JSON may have arrows. */
export interface DrawRequest {
  lines: string;
}

/** Texts to draw arrows on. */
export interface Drawn {
  texts: DrawnText[];
  note?: string;
}

/** The same cut into words, so that arrows can be drawn between them. */
export interface DrawnText {
  text: string;
  arrows: [[number, number], [number, number]][];
  words: string[];
  spans: [number, number][];
}

/** Heads to switch off, as in "3.2, layer 7". */
export interface Edit {
  heads: string;
  how: "zero" | "uniform";
}

/** What the single file (script "headscope-data") and the widget (trait `about`) hold as JSON. */
export interface Embedded {
  about: About;
  seen?: Seen | null;
  beside?: Seen | null;
  atlas?: AtlasData | null;
  head_pages?: Record<string, HeadPage>;
  start?: string;
  chunks?: Chunk[];
}

/** How far the embedding of a text moves: the mean of the last layer's vectors over all tokens. */
export interface EmbeddingChange {
  distance: number;
  tokens: TokenChange[];
}

/** The head's attention on one text of the corpus, the same for all heads; a cell holds its largest weight. */
export interface ExampleMap {
  cells: ((number | null)[])[];
  queries: number | null;
  keys: number | null;
}

/** Arrows that a head is searched for that looks along them; texts without arrows do not count. */
export interface FindRequest {
  model: string;
  texts: ArrowLine[];
}

/** One thing that the atlas shows: a sentence, and the number behind it. */
export interface Finding {
  topic: string;
  stack: string;
  parts: FindingPart[];
  heads: string[];
  value: number | null;
  low?: number | null;
  high?: number | null;
  control?: number | null;
  control_name?: string;
  verdict?: "above" | "below" | "unclear" | "too few" | null;
  units?: string;
}

/** A piece of a sentence. */
export interface FindingPart {
  text: string;
  head?: string | null;
}

/** Which heads look along the arrows. */
export interface Found {
  stacks: FoundHeads[];
  notes: string[];
}

/** The best heads of a stack, as a table, and the answer in sentences. */
export interface FoundHeads {
  stack: string;
  sentences: string[];
  heads: string[];
  headings: string[];
  rows: string[][];
}

/** What the model says in one place, best first. */
export interface Guess {
  place: string;
  options: Option[];
  changed?: boolean;
}

/** A case of a probe: a sentence in which the head does what it was found to be the best at. */
export interface HeadExample {
  text: string;
  words: string[];
  marks: number[];
  weights?: number[] | null;
  guess?: number;
  is_right?: boolean;
  is_looked_at?: boolean;
  note: string;
}

/** Heads as points: who lies near whom. */
export interface HeadMap {
  key: string;
  title: string;
  about: string;
  points: [number, number][];
}

/** One head. */
export interface HeadName {
  stack: string;
  layer: number;
  head: number;
}

/** All that an atlas knows of one head; what it does not know is empty or null. */
export interface HeadPage {
  stack: string;
  layer: number;
  head: number;
  kind?: string | null;
  card?: CardLine[];
  without?: string;
  named: string;
  at_work?: HeadExample[];
  sections?: Section[];
  examples?: HeadExample[];
  typical?: TypicalSentence[];
  notes?: string[];
}

/** A text to look at: as the model is, or with the edits. */
export interface LookRequest {
  model: string;
  text_a: string;
  text_b?: string | null;
  edits?: Edit[];
  difference?: boolean;
  weigh?: "looked" | "moved" | "signed";
  generate?: number;
}

/** A model that can be asked. */
export interface ModelInfo {
  name: string;
  architecture: string;
  task: string | null;
  max_length: number | null;
  pairs: boolean;
}

/** The heads that the edits of a request name. */
export interface NamedHeads {
  heads: HeadName[];
}

/** Another head that a head's page leads to, as it does much the same or is read by it. */
export interface NearHead {
  head: string;
  distance: number;
  note?: string;
}

/**
 * One head's query and key vectors: chunk `neurons/{stack}/{layer}/{head}`, raw-deflated JSON.
 *
 * A score is scale * q.k, then cap * tanh(score / cap) where there is a `soft_cap`, then + bias. The weights are
 * the softmax over the visible keys, with `sink` (a score that no key has) counted in where there is one.
 */
export interface Neurons {
  stack: string;
  layer: number;
  head: number;
  scale: number;
  queries: number[][];
  keys: number[][];
  bias: number[][] | null;
  soft_cap?: number | null;
  sink?: number | null;
  visible?: [number, number][] | null;
  agrees?: boolean;
  rotated?: boolean;
  note: string;
}

/** One thing the model might say. */
export interface Option {
  text: string;
  probability: number;
  other?: number | null;
  fares?: "new" | "up" | "down" | "same";
}

/** A text to predict from, with and without the edits. */
export interface PredictRequest {
  model: string;
  text_a: string;
  text_b?: string | null;
  edits?: Edit[];
}

/** What the model says as it is, and with the edits; of one that predicts nothing, where its embedding moves. */
export interface Predicted {
  task: "mlm" | "qa" | "classification" | "lm" | "embedding";
  before: Guess[];
  after: Guess[];
  embedding?: EmbeddingChange | null;
  said?: string;
  note?: string;
}

/** What every answer is that is not the one asked for. */
export interface Problem {
  error: string;
}

/** One analysis of a head, as its page shows it: sentences, charts, and what they are. */
export interface Section {
  key: string;
  title: string;
  said?: string[];
  charts?: Chart[];
  heads?: NearHead[];
  map?: ExampleMap | null;
  stacked?: Stacked | null;
  about?: string;
  folded?: Chart[];
  folded_title?: string;
}

/**
 * What a model made of a text; the maps themselves are chunks.
 *
 * A chunk `maps/{stack}/{layer}` is raw-deflated uint8[head][query][key]; `levels` says what weight each byte
 * stands for. Where it is `fine`, as many bytes follow, in the same order: 0 to 255 says where the weight lies between
 * the two middles around its level, the middle of two levels being half-way (the first level below the first, the last
 * above the last).
 */
export interface Seen {
  levels: (number | null)[];
  max_error: number;
  word_error: number;
  fine?: boolean;
  signed?: boolean;
  model: string;
  architecture: string;
  text_a: string;
  text_b: string | null;
  output?: string | null;
  source: Tokens;
  target: Tokens | null;
  stacks: StackShape[];
  rotated: boolean;
  note: string;
  cards?: Record<string, string[]>;
  weigh?: "looked" | "moved" | "signed";
  weigh_note?: string;
  id: string;
  edit?: string;
  difference?: boolean;
  also?: AlsoStored[];
  has_neurons: boolean;
  neuron_heads?: string[] | null;
  sharpest?: Record<string, [number, number]>;
}

/** A text to look at, or a pair; for models that read one text and write another, text_b is what is written. */
export interface SeenRequest {
  model: string;
  text_a: string;
  text_b?: string | null;
}

/** Some heads against the rest. */
export interface Selection {
  rows: SelectionRow[];
  about: string;
}

/** One number: its mean over some heads and over all others, and their difference with its 95 % interval. */
export interface SelectionRow {
  title: string;
  unit: string;
  selected: number | null;
  rest: number | null;
  difference: number | null;
  low?: number | null;
  high?: number | null;
  verdict: "above" | "below" | "unclear" | "too few";
}

/** Where each word of a sentence looks most, or takes most from. */
export interface SentenceLinks {
  looks_at: number[];
  weights: number[];
  strongest: number[];
  said: string;
}

/** One stack of layers, and which tokens ask and answer in it. */
export interface StackShape {
  name: "encoder" | "decoder" | "cross";
  layers: number;
  heads: number;
  queries: "source" | "target";
  keys: "source" | "target";
  causal: boolean;
  module_layers?: number[];
}

/** Shares of heads that add up to 1, each drawn as one bar; the last name is for what has none. */
export interface Stacked {
  title?: string;
  names: string[];
  heads: number[][];
}

/** What the server is busy with. */
export interface Status {
  working: string;
  waiting: number;
}

/** How far a token's vector of the last layer moves. */
export interface TokenChange {
  token: string;
  place: number;
  distance: number;
}

/** The tokens of a text, or of the two texts of a pair, in the order in which the model read them. */
export interface Tokens {
  pieces: string[];
  words: string[];
  word: number[];
  segment: number[];
  special: boolean[];
  generated?: boolean[];
}

/** A sentence of the corpus on which the head is most like itself, and where each of its words looks most. */
export interface TypicalSentence {
  looks_at: number[];
  weights: number[];
  strongest: number[];
  said: string;
  words: string[];
  keys?: string[] | null;
  likeness: number;
  special: string[];
  moved?: SentenceLinks | null;
}

/** A view that another package adds. */
export interface ViewInfo {
  name: string;
  title: string;
  about: string;
  subject: "text" | "atlas" | "head";
  controls?: ("layer" | "heads" | "head")[];
}
