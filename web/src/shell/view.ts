/** What a view is. */
import type { ComponentType } from "preact";
import type { Seen } from "../data/api";
import type { Source } from "../data/source";
import type { Setting } from "./setting";
import type { SetState, State } from "./state";

/** What is pointed at: a token that looks, one that is looked at, or a cell of both. */
export interface Spot {
  query: number | null;
  key: number | null;
}

/** What two panes of the same view tell each other. */
export interface Across {
  /** What is pointed at in the other pane, as far as this one has the same tokens. */
  over: Spot | null;
  setOver: (spot: Spot | null) => void;
  /** The largest weight that either of them shows. */
  largest: number;
  setLargest: (largest: number) => void;
}

export interface ViewProps {
  source: Source;
  /** The text that is being looked at; never null in a view that needs "text" or "neurons". */
  seen: Seen | null;
  /** Stack, layer and heads are those of `seen` (never out of its range) in a view that needs "text" or "neurons". */
  state: State;
  setState: SetState;
  dark: boolean;
  /** The pane beside, where there is one. */
  across?: Across;
}

/** Which of the frame's controls a view is steered by. */
export type Control = "layer" | "heads" | "head" | "weigh" | "filter" | "level" | "threshold";

export interface View {
  /** As it is in links. */
  name: string;
  title: string;
  /** One sentence for the help. */
  about: string;
  /** What it cannot do without; where that is missing the view is not offered. */
  needs: "text" | "neurons" | "atlas" | "predict" | "find";
  controls: readonly Control[];
  /** What it keeps in the address for itself. */
  settings?: readonly Setting[];
  /** Weights below are not drawn unless the reader says otherwise, in a text with so many keys; without it all are. */
  threshold?: (keys: number) => number;
  /** What two panes have in common, in words; `largest` is the largest weight that they show, `error` how far it may be off. */
  scale?: (state: State, largest: number, error: number) => string;
  /**
   * Keys of its own for the help: (keys, what they do). A view takes keys with `useKeys` (keys.ts), where it is asked
   * before the frame; arrows, Escape, and whatever it tells here.
   */
  keys?: readonly (readonly [string, string])[];
  component: ComponentType<ViewProps>;
}
