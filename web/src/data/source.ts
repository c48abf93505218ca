/**
 * Where the views get their data from: a server, the page itself, or a notebook.
 *
 * A method that is missing means that the views which need it are not offered.
 */
import type {
  About,
  AtlasData,
  AtlasInfo,
  Drawn,
  DrawRequest,
  FindRequest,
  Found,
  HeadPage,
  LookRequest,
  NamedHeads,
  Neurons,
  Predicted,
  PredictRequest,
  Seen,
  SeenRequest,
  Selection,
  StackShape,
  ViewInfo,
} from "./api";

/** The maps of one layer. */
export interface LayerMaps {
  readonly stack: StackShape;
  readonly layer: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  /** (head, query, key); `Seen.levels` has the weight of each code. */
  readonly codes: Uint8Array;
  /** (head, query, key) the second bytes, where the text was stored with two bytes a weight (`Seen.fine`). */
  readonly second: Uint8Array | null;
}

/** Stack, layer and head. */
export type HeadPlace = readonly [string, number, number];

export interface Source {
  readonly kind: "server" | "file" | "widget";
  readonly about: About;
  /** A fragment (see shell/state.ts) that says what to show first. */
  readonly start: string;
  /** The text that is being looked at. */
  readonly current: Seen | null;
  /** The same text weighed in other ways, where the page holds them: sources of their own. */
  readonly weighed?: Readonly<Record<string, Source>>;
  /** A second text or model, to be shown beside: a source of its own, with the same methods for its text. */
  readonly beside?: Source;
  /** Sends a new text through a model; it becomes `current`. */
  seen?(request: LookRequest, signal?: AbortSignal): Promise<Seen>;
  /** The maps of one layer of `current`. */
  maps?(stack: string, layer: number): Promise<LayerMaps>;
  /** Queries and keys of one head of `current`. */
  neurons?(stack: string, layer: number, head: number, signal?: AbortSignal): Promise<Neurons>;
  /** Without places of heads on maps where these take longer. */
  atlas?(id: string, signal?: AbortSignal): Promise<AtlasData>;
  /** The same with them; where it is missing, `atlas` has them. */
  mappedAtlas?(id: string, signal?: AbortSignal): Promise<AtlasData>;
  headPage?(atlas: string, stack: string, layer: number, head: number, signal?: AbortSignal): Promise<HeadPage>;
  /** Some heads, as layer.head, against the rest of their stack. */
  selection?(atlas: string, stack: string, heads: readonly string[], signal?: AbortSignal): Promise<Selection>;
  /** What a view of another package draws: of `current`, of an atlas, or of one of its heads. */
  view?(info: ViewInfo, atlas: string, head: HeadPlace | null, signal?: AbortSignal): Promise<unknown>;
  /** Loads the script of such a view, where it is not in the page. */
  script?(name: string): Promise<void>;
  predict?(request: PredictRequest, signal?: AbortSignal): Promise<Predicted>;
  /** What the heads of a model do on one text, as an atlas of it. */
  textAtlas?(request: SeenRequest, signal?: AbortSignal): Promise<AtlasData>;
  /** Sentences, or lines of arrows.jsonl, as words to draw arrows between. */
  drawArrows?(request: DrawRequest): Promise<Drawn>;
  /** The heads that look along arrows. */
  find?(request: FindRequest, signal?: AbortSignal): Promise<Found>;
  /** The heads that edits name. */
  select?(request: PredictRequest, signal?: AbortSignal): Promise<NamedHeads>;
}

/** Fails with words for the reader. */
export class SourceError extends Error {
  override name = "SourceError";
}

/**
 * The atlas that an address means: the one it names, by id or by name, else the first one of the model it names, else the first.
 *
 * Null where that is not here, and where the named atlas is of another model than the address names: heads of one model are
 * never shown under the name of another.
 */
export function atlasIn(
  { atlases }: Pick<About, "atlases">,
  { atlas, model }: { atlas: string; model: string },
): AtlasInfo | null {
  const byId = atlases.filter(({ id }) => atlas === "" || id === atlas);
  const named = byId.length > 0 ? byId : atlases.filter(({ name }) => name === atlas);
  return named.find((each) => model === "" || each.model === model) ?? null;
}

/** An atlas among others: its file, and whose heads it is about. */
export function atlasTitle({ name, model }: AtlasInfo): string {
  return model === "" || model === name ? name : `${name} (${model})`;
}

/** Whose attention it is: a model's, an edited model's, or what an edit changes; and what it is, where it is not attention. */
export function subjectOf({ model, edit, difference, weigh }: Partial<Seen> & { model: string }): string {
  const of = { looked: "", moved: ", what heads move", signed: ", shares of what heads give" }[weigh ?? "looked"];
  if (!edit) return model + of;
  return (difference ? `${model}, what changes with ${edit}` : `${model} with ${edit}`) + of;
}

/** What a number between two tokens is. */
export function amountOf({ difference, weigh }: Pick<Seen, "difference" | "weigh">): string {
  if (difference) return "change";
  return { looked: "weight", moved: "moved share", signed: "signed share" }[weigh ?? "looked"];
}

export function stackOf(seen: Seen, name: string): StackShape {
  const found = seen.stacks.find((stack) => stack.name === name);
  if (found === undefined) throw new SourceError(`There is no stack “${name}” in this view.`);
  return found;
}

/** What an atlas says that a head does; "" without an atlas. */
export function cardOf(seen: Seen, stack: StackShape, layer: number, head: number): string {
  return seen.cards?.[stack.name]?.[layer * stack.heads + head] ?? "";
}

/** `bytes` as the maps of a layer, or an error when they have not the size that the text says. */
export function layerMaps(seen: Seen, name: string, layer: number, bytes: Uint8Array): LayerMaps {
  const stack = stackOf(seen, name);
  const count = (side: "source" | "target"): number =>
    (side === "target" ? (seen.target ?? seen.source) : seen.source).pieces.length;
  const queries = count(stack.queries);
  const keys = count(stack.keys);
  const size = stack.heads * queries * keys;
  const planes = seen.fine ? 2 : 1;
  if (bytes.length !== planes * size) {
    throw new SourceError(
      `Layer ${layer} of ${name} has ${bytes.length / planes} weights; ${stack.heads} x ${queries} x ${keys} were expected.`,
    );
  }
  const second = seen.fine ? bytes.subarray(size) : null;
  return { stack, layer, heads: stack.heads, queries, keys, codes: bytes.subarray(0, size), second };
}
