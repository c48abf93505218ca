/** An edit of the model: heads that are switched off, and which attention the views of a text show of it. */
import type { LookRequest } from "../data/api";
import { AS_IS, setting } from "./setting";
import type { State } from "./state";
import { weigh } from "./weigh";

/** The heads that are switched off, in words. */
export const off = setting("x-off", AS_IS, { scope: "model", isStep: true });

export type How = "zero" | "uniform";

/** What a head that is switched off does. */
export const how = setting<How>(
  "x-how",
  { parse: (text) => (text === "uniform" ? "uniform" : "zero"), print: (value) => (value === "zero" ? "" : value) },
  { isStep: true },
);

export const SHOWN = ["before", "after", "difference"] as const;
export type Shown = (typeof SHOWN)[number];

/** Whether the views of a text show the model as it is, the edited one, or what the edit changes. */
export const shows = setting<Shown>(
  "x-shows",
  {
    parse: (text) => SHOWN.find((value) => value === text) ?? "before",
    print: (value) => (value === "before" ? "" : value),
  },
  { scope: "model", isStep: true },
);

/** How many tokens the model writes after the text; 0 for a text that is only read. */
export const generate = setting<number>(
  "generate",
  {
    parse: (text) => (/^\d{1,3}$/.test(text) ? Number(text) : 0),
    print: (value) => (value === 0 ? "" : String(value)),
  },
  { scope: "model", isStep: true },
);

export const EDIT_SETTINGS = [off, how, shows, generate];

/** The edit as a request names it. */
export function editsIn(state: Pick<State, "settings">): NonNullable<LookRequest["edits"]> {
  const heads = off.of(state).trim();
  return heads === "" ? [] : [{ heads, how: how.of(state) }];
}

/** What the views of a text ask for besides the text. */
export type Wish = Required<Pick<LookRequest, "edits" | "difference" | "weigh" | "generate">>;

export function wishIn(state: Pick<State, "settings">): Wish {
  const shown = shows.of(state);
  const edits = shown === "before" ? [] : editsIn(state);
  const tokens = generate.of(state);
  const difference = shown === "difference" && edits.length > 0 && tokens === 0;
  return { edits, difference, weigh: tokens > 0 ? "looked" : weigh.of(state) || "looked", generate: tokens };
}
