/** Choosing layers and heads. */
import type { Seen, StackShape } from "../data/api";
import { axesOf, moved } from "../data/tokens";
import type { State } from "./state";
import type { View } from "./view";

/**
 * The state with a stack, layer, heads and token that `seen` has.
 *
 * Where no head is named it is the sharpest, but among lines: there no head of a layer means all of them.
 */
export function within(state: State, seen: Seen): State {
  const stack = seen.stacks.find((each) => each.name === state.stack) ?? seen.stacks[0];
  if (stack === undefined) return state;
  const sharpest = seen.sharpest?.[stack.name];
  if (state.view !== "head" && state.layer === 0 && state.heads.length === 0 && sharpest !== undefined)
    return within({ ...state, layer: sharpest[0], heads: [sharpest[1]] }, { ...seen, sharpest: {} });
  const count = axesOf(seen, stack, state.level)[state.side === "query" ? "queries" : "keys"].length;
  return {
    ...state,
    token: state.token !== null && state.token < count ? state.token : null,
    stack: stack.name,
    layer: Math.min(state.layer, stack.layers - 1),
    heads: state.heads.filter((head) => head < stack.heads),
  };
}

/** The heads that are shown. */
export function shownHeads(state: State, stack: StackShape): number[] {
  return state.heads.length === 0 ? Array.from({ length: stack.heads }, (_, head) => head) : state.heads;
}

/** The heads after a click on one: it comes or goes. When the last one goes all are back (written []). */
export function toggled(heads: readonly number[], head: number, count: number): number[] {
  const shown = new Set(heads.length === 0 ? Array.from({ length: count }, (_, each) => each) : heads);
  if (!shown.delete(head)) shown.add(head);
  return shown.size === count ? [] : [...shown].sort((one, other) => one - other);
}

/** The heads after a double click on one: only it, or all when it was the only one. */
export function onlyOne(heads: readonly number[], head: number): number[] {
  return heads.length === 1 && heads[0] === head ? [] : [head];
}

/** The weight below which nothing is drawn: the reader's, or else the view's own for this text. */
export function leastDrawn(
  { threshold }: Pick<View, "threshold">,
  state: State,
  seen: Seen,
  stack: StackShape,
): number {
  const keys = (stack.keys === "target" ? seen.target : seen.source)?.pieces.length ?? 1;
  return state.threshold ?? threshold?.(keys) ?? 0;
}

/** One head further (or back, or a layer up or down), staying inside the stack. */
export function stepped(state: State, stack: StackShape, key: string): Partial<State> | null {
  const head = state.heads[0] ?? 0;
  switch (key) {
    case "ArrowUp":
      return { layer: Math.max(0, state.layer - 1) };
    case "ArrowDown":
      return { layer: Math.min(stack.layers - 1, state.layer + 1) };
    case "ArrowLeft":
      return { heads: [state.heads.length === 1 ? (head + stack.heads - 1) % stack.heads : stack.heads - 1] };
    case "ArrowRight":
      return { heads: [state.heads.length === 1 ? (head + 1) % stack.heads : 0] };
    default:
      return null;
  }
}

/** The state at another level; the token that is held stays the same piece of text. */
export function atLevel(seen: Seen, state: State, level: State["level"]): Partial<State> {
  const stack = seen.stacks.find((each) => each.name === state.stack);
  if (stack === undefined || state.token === null) return { level };
  const side = state.side === "query" ? "queries" : "keys";
  const from = axesOf(seen, stack, state.level)[side];
  return { level, token: moved(state.token, from, axesOf(seen, stack, level)[side]) };
}
