/** What is being looked at. On a page it is the address's fragment, so that a view can be shared. */

export const FILTERS = ["all", "aa", "ab", "ba", "bb"] as const;
export type Filter = (typeof FILTERS)[number];

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
  level: "piece" | "word";
  theme: "auto" | "light" | "dark";
  /** How weights become colours: by their value, or by its square root (small weights stand out). */
  scale: "linear" | "root";
  /** The key of the colouring of the atlas and map views. */
  colour: string;
  /** Search among tokens and words, in the views of a text. */
  q: string;
  /** Search among heads, in the views of an atlas. */
  hq: string;
  /** Heads brushed in the atlas and map views, as layer.head. */
  selected: string[];
  /** The id of the atlas; "" for the first one. */
  atlas: string;
  /** The text last seen, for pages that can see new texts. */
  model: string;
  a: string;
  b: string;
  /** What a single view keeps for itself; the names start with "x-". */
  extra: Record<string, string>;
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
  colour: "",
  q: "",
  hq: "",
  selected: [],
  atlas: "",
  model: "",
  a: "",
  b: "",
  extra: {},
} satisfies State);

export type SetState = (change: Partial<State>) => void;

/** A change of what a view keeps for itself; empty values leave the link. */
export function withExtra(state: State, name: string, value: string): Partial<State> {
  const extra = { ...state.extra };
  if (value === "") delete extra[name];
  else extra[name] = value;
  return { extra };
}

/** What means nothing in another model, and at other tokens, unless the change itself says it. */
const OF_MODEL = ["x-off"];
const OF_TOKENS = ["x-box", "x-piece"];

/** The state after a change. What belongs to the model or the tokens that were shown before goes with them. */
export function changed(before: State, change: Partial<State>): State {
  // No model or stack is the first one, which a page then names; no text is none.
  const isFirst = (key: string, value: string): boolean => value === "" && (key === "model" || key === "stack");
  const differs = (key: "model" | "a" | "b" | "stack" | "level"): boolean =>
    change[key] !== undefined && change[key] !== before[key] && !isFirst(key, before[key]);
  const after = { ...before, ...change };
  const otherModel = differs("model");
  const otherText = otherModel || (["a", "b"] as const).some(differs);
  const otherTokens = otherText || (["stack", "level"] as const).some(differs);
  const otherToken = change.token !== undefined && change.token !== before.token;
  const gone = [...(otherModel ? OF_MODEL : []), ...(otherTokens ? OF_TOKENS : []), ...(otherToken ? ["x-piece"] : [])];
  if (gone.some((name) => name in before.extra)) {
    after.extra = { ...after.extra };
    for (const name of gone) if (change.extra?.[name] === before.extra[name] || !change.extra) delete after.extra[name];
  }
  if (otherText && change.token === undefined) after.token = null;
  return after;
}

/**
 * How a change goes into the history: as a step that one can go back over; as a step unless it follows another such change
 * at once (arrows held down, clicks on one head after the other, a name being typed); or as none.
 */
export function stepOf(
  before: State,
  after: State,
  first: { model?: string; atlas?: string } = {},
): "step" | "run" | "none" {
  const other = (key: keyof State): boolean => print(before[key]) !== print(after[key]);
  // The page itself names the model and atlas that no address named.
  const chosen = (key: "model" | "atlas"): boolean => other(key) && (before[key] || first[key]) !== after[key];
  if (other("view") || other("a") || other("b") || chosen("model") || chosen("atlas")) return "step";
  // No stack is the first one, as for models.
  const ofHead = other("layer") || other("heads") || (other("stack") && before.stack !== "");
  const ofEdit = ["x-off", "x-how"].some((name) => (before.extra[name] ?? "") !== (after.extra[name] ?? ""));
  return ofHead || ofEdit ? "run" : "none";
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.find((value) => value === text) ?? otherwise;
}

/** The state that a fragment (with or without "#") says; what cannot be understood is left at its default. */
export function parseState(fragment: string, defaults: Readonly<State> = DEFAULTS): State {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = (key: "view" | "stack" | "colour" | "q" | "hq" | "atlas" | "model" | "a" | "b"): string =>
    said.get(key) ?? defaults[key];
  const listed = (key: string): string[] =>
    (said.get(key) ?? "")
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  const heads = listed("heads").map(whole);
  const threshold = said.get("threshold");
  const number = threshold === null || threshold.trim() === "" ? NaN : Number(threshold);
  const extra: Record<string, string> = { ...defaults.extra };
  for (const [key, value] of said) if (key.startsWith("x-")) extra[key] = value;
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
    scale: oneOf(said.get("scale"), ["linear", "root"], defaults.scale),
    colour: text("colour"),
    q: text("q"),
    hq: text("hq"),
    selected: said.has("selected")
      ? listed("selected").filter((head) => /^\d+\.\d+$/.test(head))
      : [...defaults.selected],
    atlas: text("atlas"),
    model: text("model"),
    a: text("a"),
    b: text("b"),
    extra,
  };
}

const ORDER = Object.keys(DEFAULTS).filter((key) => key !== "extra") as Exclude<keyof State, "extra">[];

/** The fragment, without "#", that says how `state` differs from the defaults. */
export function printState(state: State, defaults: Readonly<State> = DEFAULTS): string {
  const said = new URLSearchParams();
  for (const key of ORDER) {
    const value = print(state[key]);
    if (value !== print(defaults[key])) said.set(key, value);
  }
  for (const key of Object.keys(state.extra).sort()) {
    const value = state.extra[key] ?? "";
    if (value !== (defaults.extra[key] ?? "")) said.set(key, value);
  }
  return said.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
}

function print(value: State[keyof State]): string {
  if (value === null) return "";
  if (typeof value === "object" && !Array.isArray(value)) return JSON.stringify(value);
  return Array.isArray(value) ? value.join(",") : String(value);
}
