/**
 * A link that names what is not here. Where it is a view, model or atlas this is said, and nothing else is shown in its place;
 * where it is a stack, layer, head or token it is said what is shown instead.
 */

import type { AtlasInfo, Seen } from "../data/api";
import { atlasIn, atlasTitle, type Source } from "../data/source";
import { axesOf } from "../data/tokens";
import { Trouble } from "../parts/controls";
import { within } from "./choices";
import type { SetState, State } from "./state";
import type { View } from "./view";
import { VIEWS } from "./views";

export interface MissingThing {
  what: "view" | "model" | "atlas";
  words: string;
}

const quoted = (name: string): string => `“${name.length > 60 ? `${name.slice(0, 59)}…` : name}”`;

/** What the address names that this page has not, for the view that is asked for; null when all of it is there. */
export function missingIn(state: State, source: Source, views: readonly View[]): MissingThing | null {
  const place = source.kind === "server" ? "This server" : "This page";
  const view = state.view === "" ? views[0] : views.find((each) => each.name === state.view);
  if (view === undefined && state.view !== "") {
    const title = VIEWS.find((each) => each.name === state.view)?.title;
    return { what: "view", words: `${place} has no view ${quoted(title ?? state.view)}.` };
  }
  const { models, atlases } = source.about;
  if (view?.needs === "atlas") {
    if (atlases.length === 0 || atlasIn(source.about, state) !== null) return null;
    const named = atlasIn(source.about, { atlas: state.atlas, model: "" });
    return { what: "atlas", words: noAtlas(state, place, named) };
  }
  const known = source.seen === undefined || state.model === "" || models.some(({ name }) => name === state.model);
  return known ? null : { what: "model", words: `${place} has no model ${quoted(state.model)}.` };
}

/** Why no atlas is shown; `named` is the one that the address names, where it is here and of another model. */
function noAtlas({ atlas, model }: State, place: string, named: AtlasInfo | null): string {
  if (atlas === "")
    return `${place} has no atlas of ${quoted(model)}. Make one with headscope analyze, and name its file when starting headscope explore.`;
  if (named === null) return `${place} has no atlas ${quoted(atlas)}.`;
  return `${quoted(named.name)} is an atlas of ${quoted(named.model)}, not of ${quoted(model)}.`;
}

/** A change to an atlas, and with it to its model; a place in another model means nothing there. */
function toAtlas({ id, model }: AtlasInfo, state: State): Partial<State> {
  const otherModel = state.model !== "" && state.model !== model;
  return { atlas: id, model, ...(otherModel ? { stack: "", layer: 0, heads: [] } : {}) };
}

interface MissingProps {
  missing: MissingThing;
  source: Source;
  state: State;
  setState: SetState;
  views: readonly View[];
}

/** Says what is missing, and offers what is there. */
export function Missing({ missing, source, state, setState, views }: MissingProps) {
  const { models, atlases } = source.about;
  const offers: [string, Partial<State>][] = {
    view: views.map(({ name, title }): [string, Partial<State>] => [title, { view: name }]),
    model: models.map(({ name }): [string, Partial<State>] => [name, { model: name }]),
    atlas: atlases.map((atlas): [string, Partial<State>] => [atlasTitle(atlas), toAtlas(atlas, state)]),
  }[missing.what];
  return (
    <>
      <Trouble>{missing.words}</Trouble>
      <p class="hs-offers">
        It has{" "}
        {offers.map(([words, change]) => (
          <button key={words} type="button" class="hs-button" onClick={() => setState(change)}>
            {words}
          </button>
        ))}
      </p>
    </>
  );
}

const counted = (what: string, numbers: readonly number[], count: number): string =>
  `no ${what}${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")} (there are 0 to ${count - 1})`;

/** What `asked` names beyond `seen`, in words; empty when all of it is there. */
export function beyond(asked: State, seen: Seen): string[] {
  const shown = within(asked, seen);
  const stack = seen.stacks.find((each) => each.name === shown.stack);
  if (stack === undefined) return [];
  const words: string[] = [];
  if (asked.stack !== "" && asked.stack !== stack.name)
    words.push(`no ${asked.stack.slice(0, 40)} (the ${stack.name} is shown)`);
  if (asked.layer >= stack.layers) words.push(counted("layer", [asked.layer], stack.layers));
  const heads = asked.heads.filter((head) => head >= stack.heads);
  if (heads.length > 0) words.push(counted("head", heads, stack.heads));
  if (asked.token !== null && shown.token === null) {
    const axis = axesOf(seen, stack, asked.level)[asked.side === "query" ? "queries" : "keys"];
    words.push(counted(asked.level === "word" ? "word" : "token", [asked.token], axis.length));
  }
  return words;
}

interface BeyondProps {
  asked: State;
  seen: Seen;
  setState: SetState;
}

/** Says what is not here, and offers an address without it. */
export function Beyond({ asked, seen, setState }: BeyondProps) {
  const words = beyond(asked, seen);
  if (words.length === 0) return null;
  const { stack, layer, heads, token } = within(asked, seen);
  return (
    <p class="hs-beyond" role="note">
      <span>What the address names is not all here: {words.join(", ")}.</span>
      <button type="button" class="hs-button" onClick={() => setState({ stack, layer, heads, token })}>
        Correct the address
      </button>
    </p>
  );
}
