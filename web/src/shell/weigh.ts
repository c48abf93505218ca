/** What lines and cells are: where heads look, what they move from there, or signed shares of what they give. */
import type { Seen } from "../data/api";
import type { Source } from "../data/source";
import { setting } from "./setting";
import type { State } from "./state";
import type { View } from "./view";

export const WEIGHS = ["looked", "moved", "signed"] as const;
export type Weigh = (typeof WEIGHS)[number];

/** "" is what the page was made with; on a server, where heads look. */
export const weigh = setting<Weigh | "">(
  "weigh",
  { parse: (text) => WEIGHS.find((value) => value === text) ?? "", print: (value) => value },
  { isStep: true },
);

export const WEIGH_WORDS: readonly (readonly [Weigh, string, string])[] = [
  ["looked", "looks", "attention: where a head looks"],
  ["moved", "moves", "the share of what a head moves: attention times the length of what is fetched there"],
  ["signed", "signed", "the share of what the head gives; below 0 where what is fetched works against it"],
];

const NEURONS = "Queries and keys decide where a head looks, not what it moves.";

/** The state for a view: queries and keys explain where heads look, and nothing else. */
export function weighedFor(view: View | undefined, state: State): State {
  if (view?.needs !== "neurons") return state;
  return { ...state, settings: { ...state.settings, ...weigh.to("looked") } };
}

/** The part of a page in which the text is weighed as the state says; a server is asked for it instead. */
export function weighedSource(source: Source, state: State): Source {
  return source.weighed?.[weigh.of(state)] ?? source;
}

/** Why the text cannot be weighed like this; "" where it can. */
export function whyNot(wanted: Weigh, view: View, source: Source, seen: Seen): string {
  if (wanted === (seen.weigh ?? "looked")) return "";
  if (view.needs === "neurons") return NEURONS;
  if (seen.weigh_note) return `${seen.weigh_note}.`;
  const isHeld = wanted === (source.current?.weigh ?? "looked") || source.weighed?.[wanted] !== undefined;
  if (source.kind === "server" || isHeld) return "";
  const made = source.kind === "file" ? `headscope view … --weigh ${wanted}` : `hs.view(…, weigh="${wanted}")`;
  return `There was no room for it here; ${made} has it.`;
}
