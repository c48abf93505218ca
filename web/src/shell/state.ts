/**
 * What is being looked at, as far as several views share it; what one view has for itself is a setting (setting.ts) of its own.
 * On a page all of it is the address's fragment, so that a view can be shared.
 */
import { FILTERS, type Filter, type Level } from "../data/tokens";
import { SCALES, type Scale } from "../parts/colour";
import type { Scope, Setting } from "./setting";

export interface State {
  /** The name of a view; "" for the first one on offer. */
  view: string;
  /** The name of a stack; "" for the first one. */
  stack: string;
  layer: number;
  /** The heads shown, rising; empty for all. A view of one head shows the first. */
  heads: number[];
  /** Which sentence may look at which: "ab" is from the first to the second. */
  filter: Filter;
  /** The token held fast, counted in pieces or words as `level` says. */
  token: number | null;
  /** Whether `token` looks (query) or is looked at (key). */
  side: "query" | "key";
  /** Weights below are not drawn; null: what the view thinks best for the text. */
  threshold: number | null;
  level: Level;
  theme: "auto" | "light" | "dark";
  scale: Scale;
  /** Search among tokens and words, in the views of a text. */
  q: string;
  /** Search among heads, in the views of an atlas. */
  hq: string;
  /** The id of the atlas; "" for the first one of the model. */
  atlas: string;
  /** The text last seen, for pages that can see new texts. */
  model: string;
  a: string;
  b: string;
  /** What views keep for themselves, by its name in links and as it is written there; what is not named is "". */
  settings: Readonly<Record<string, string>>;
}

export const DEFAULTS: Readonly<State> = Object.freeze({
  view: "",
  stack: "",
  layer: 0,
  heads: [],
  filter: "all",
  token: null,
  side: "query",
  threshold: null,
  level: "piece",
  theme: "auto",
  scale: "root",
  q: "",
  hq: "",
  atlas: "",
  model: "",
  a: "",
  b: "",
  settings: {},
} satisfies State);

/** A change names only what it changes; that holds for its settings as well. */
export type SetState = (change: Partial<State>) => void;

/** The state after a change. What belongs to the model, atlas or tokens that were shown before goes with them. */
export function changed(before: State, change: Partial<State>, settings: readonly Setting[]): State {
  // No model or stack is the first one, which a page then names; no text is none.
  const isFirst = (key: string, value: string): boolean => value === "" && (key === "model" || key === "stack");
  const differs = (key: "model" | "a" | "b" | "stack" | "level"): boolean =>
    change[key] !== undefined && change[key] !== before[key] && !isFirst(key, before[key]);
  const otherModel = differs("model");
  const otherText = otherModel || (["a", "b"] as const).some(differs);
  const otherTokens = otherText || (["stack", "level"] as const).some(differs);
  const isOther: Record<Scope, boolean> = {
    page: false,
    atlas: otherModel || (change.atlas !== undefined && change.atlas !== before.atlas),
    model: otherModel,
    tokens: otherTokens,
    token: otherTokens || (change.token !== undefined && change.token !== before.token),
  };
  const kept = { ...before.settings };
  for (const { name, scope } of settings) if (isOther[scope]) delete kept[name];
  const named = Object.entries({ ...kept, ...change.settings }).filter(([, value]) => value !== "");
  const after = { ...before, ...change, settings: Object.fromEntries(named) };
  if (otherText && change.token === undefined) after.token = null;
  if (otherModel && change.atlas === undefined) after.atlas = ""; // an atlas is of one model
  return after;
}

/**
 * How a change goes into the history: as a step that one can go back over; as a step unless it follows another such change
 * at once (arrows held down, clicks on one head after the other, a name being typed); or as none.
 */
export function stepOf(
  before: State,
  after: State,
  settings: readonly Setting[],
  first: { model?: string; atlas?: string } = {},
): "step" | "run" | "none" {
  const other = (key: keyof State): boolean => print(before[key]) !== print(after[key]);
  // The page itself names the model and atlas that no address named.
  const chosen = (key: "model" | "atlas"): boolean => other(key) && (before[key] || first[key]) !== after[key];
  if (other("view") || other("a") || other("b") || chosen("model") || chosen("atlas")) return "step";
  // No stack is the first one, as for models.
  const ofHead = other("layer") || other("heads") || (other("stack") && before.stack !== "");
  const ofSetting = settings.some(
    ({ name, isStep }) => isStep && (before.settings[name] ?? "") !== (after.settings[name] ?? ""),
  );
  return ofHead || ofSetting ? "run" : "none";
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.find((value) => value === text) ?? otherwise;
}

/** The state that a fragment (with or without "#") says; what cannot be understood is left at its default. */
export function parseState(
  fragment: string,
  settings: readonly Setting[],
  defaults: Readonly<State> = DEFAULTS,
): State {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = (key: "view" | "stack" | "q" | "hq" | "atlas" | "model" | "a" | "b"): string =>
    said.get(key) ?? defaults[key];
  const heads = (said.get("heads") ?? "").split(",").map((head) => whole(head.trim()));
  const threshold = said.get("threshold");
  const number = threshold === null || threshold.trim() === "" ? NaN : Number(threshold);
  const named = settings.map(({ name }) => [name, said.get(name) ?? defaults.settings[name] ?? ""] as const);
  return {
    view: text("view"),
    stack: text("stack"),
    layer: whole(said.get("layer")) ?? defaults.layer,
    heads: said.has("heads")
      ? [...new Set(heads.filter((head) => head !== null))].sort((one, other) => one - other)
      : [...defaults.heads],
    filter: oneOf(said.get("filter"), FILTERS, defaults.filter),
    token: said.has("token") ? whole(said.get("token")) : defaults.token,
    side: oneOf(said.get("side"), ["query", "key"], defaults.side),
    threshold: Number.isFinite(number) ? Math.min(1, Math.max(0, number)) : defaults.threshold,
    level: oneOf(said.get("level"), ["piece", "word"], defaults.level),
    theme: oneOf(said.get("theme"), ["auto", "light", "dark"], defaults.theme),
    scale: oneOf(said.get("scale"), SCALES, defaults.scale),
    q: text("q"),
    hq: text("hq"),
    atlas: text("atlas"),
    model: text("model"),
    a: text("a"),
    b: text("b"),
    settings: Object.fromEntries(named.filter(([, value]) => value !== "")),
  };
}

const ORDER = Object.keys(DEFAULTS).filter((key) => key !== "settings") as Exclude<keyof State, "settings">[];

/** The fragment, without "#", that says how `state` differs from the defaults. */
export function printState(state: State, defaults: Readonly<State> = DEFAULTS): string {
  const said = new URLSearchParams();
  for (const key of ORDER) {
    const value = print(state[key]);
    if (value !== print(defaults[key])) said.set(key, value);
  }
  for (const name of Object.keys({ ...defaults.settings, ...state.settings }).sort()) {
    const value = state.settings[name] ?? "";
    if (value !== (defaults.settings[name] ?? "")) said.set(name, value);
  }
  return said.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
}

function print(value: State[keyof State]): string {
  if (value === null) return "";
  if (typeof value === "object" && !Array.isArray(value)) return JSON.stringify(value);
  return Array.isArray(value) ? value.join(",") : String(value);
}
