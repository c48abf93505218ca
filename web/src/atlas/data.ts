/** What the atlas and map views are given: the atlas, the stack and colouring that the state names, and who stays under the filter. */

import { useMemo } from "preact/hooks";
import type { AtlasData, AtlasStack, Colouring, HeadPage } from "../data/api";
import { atlasIn, type Source } from "../data/source";
import { kindColour, LEVELS, type RampName, rampOf } from "../parts/colour";
import { useLoaded } from "../parts/hooks";
import type { State } from "../shell/state";
import { weigh } from "../shell/weigh";
import { binOf, cellTexts, extent, type Kept, keptHeads } from "./filter";
import { colour, pick, selected, stretched } from "./settings";

export interface AtlasLook {
  atlas: AtlasData;
  stack: AtlasStack;
  colouring: Colouring | null;
  /** One colour per head, layer-major; "" for a head without a value. */
  colours: string[];
  /** The values as they are written into cells; empty where they are kinds. */
  texts: string[];
  pick: Kept;
  /** Whether the whole ramp is spent on the values there are. */
  stretched: boolean;
  /** Heads that neither the filter nor the selection leaves out, layer-major. */
  bright: boolean[];
  selected: ReadonlySet<string>;
  /** The head whose page is open, layer-major: the one asked for, else one worth a look; null for a head that is not there. */
  current: number | null;
}

export function rampName(colouring: Colouring): RampName {
  if (colouring.diverging) return "signed";
  return colouring.unit === "" || colouring.unit === "1" || /share|%/.test(colouring.unit) ? "share" : "amount";
}

/** The colour of each head under a colouring. */
export function coloursOf(colouring: Colouring, dark: boolean, stretched: boolean): string[] {
  if (colouring.kind === "category")
    return colouring.values.map((value) => (value === null ? "" : kindColour(value, dark)));
  const [low, high] = extent(colouring, stretched);
  const steps = rampOf(rampName(colouring), dark);
  return colouring.values.map((value) => {
    const bin = binOf(value, low, high, LEVELS);
    return bin === null ? "" : (steps[bin] ?? "");
  });
}

export function stackIn(atlas: AtlasData, state: State): AtlasStack | null {
  return atlas.stacks.find(({ name }) => name === state.stack) ?? atlas.stacks[0] ?? null;
}

function currentHead(stack: AtlasStack, state: State): number | null {
  const head = state.heads[0];
  if (head === undefined) return stack.first_head ?? null;
  if (head >= stack.heads || state.layer >= stack.layers) return null;
  return state.layer * stack.heads + head;
}

export function lookAt(atlas: AtlasData, state: State, dark: boolean): AtlasLook | null {
  const stack = stackIn(atlas, state);
  if (stack === null) return null;
  const named = (wanted: string | null | undefined) => stack.colourings.find(({ key }) => key === wanted);
  const chosen = named(colour.of(state)) ?? named(stack.first_colouring) ?? null;
  const wanted = weigh.of(state);
  const isOther = wanted !== "" && (chosen?.weigh ?? "looked") !== (wanted === "moved" ? "moved" : "looked");
  const colouring = (isOther ? named(chosen?.other) : undefined) ?? chosen;
  const kept = pick.of(state);
  const isStretched = stretched.of(state);
  const count = stack.layers * stack.heads;
  const brushed = new Set(selected.of(state));
  const stays = colouring
    ? keptHeads(stack.colourings, colouring, stack.heads, kept, state.hq)
    : Array<boolean>(count).fill(true);
  const bright = stays.map((stay, index) => stay && (brushed.size === 0 || brushed.has(nameOf(stack, index))));
  return {
    atlas,
    stack,
    colouring,
    colours: colouring ? coloursOf(colouring, dark, isStretched) : Array<string>(count).fill(""),
    texts: colouring ? cellTexts(colouring) : [],
    pick: kept,
    stretched: isStretched,
    bright,
    selected: brushed,
    current: currentHead(stack, state),
  };
}

/** A head of a stack, such as "3.2". */
export function nameOf(stack: { heads: number }, index: number): string {
  return `${Math.floor(index / stack.heads)}.${index % stack.heads}`;
}

export interface AtlasFound {
  /** The atlas that is asked for. */
  id: string;
  look: AtlasLook | null;
  error: string | null;
  busy: boolean;
}

export function useAtlas(source: Source, state: State, dark: boolean, withMaps = false): AtlasFound {
  const found = atlasIn(source.about, state);
  const id = found?.id ?? "";
  const load = found === null ? undefined : ((withMaps ? source.mappedAtlas : undefined) ?? source.atlas);
  const { value, error, busy } = useLoaded(load ? (signal) => load(id, signal) : null, [source, id]);
  const look = useMemo(() => (value ? lookAt(value, state, dark) : null), [value, state, dark]);
  return { id, look, error, busy };
}

/** The page of the head that is open. */
export function useHeadPage(source: Source, look: AtlasLook | null) {
  const current = look?.current ?? null;
  const load = source.headPage;
  const asked =
    look && current !== null && load
      ? ([look.atlas.id, look.stack.name, Math.floor(current / look.stack.heads), current % look.stack.heads] as const)
      : null;
  return useLoaded<HeadPage>(asked && load ? (signal) => load(...asked, signal) : null, [
    source,
    ...(asked ?? [null, null, null, null]),
  ]);
}
