/** A link that names what is not here: it is said, and nothing else is shown in its place. */
import { atlasId, type Source } from "../data/source";
import { Trouble } from "../parts/controls";
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
    const known = atlases.length === 0 || atlasId(source.about, state.atlas) !== null;
    return known ? null : { what: "atlas", words: `${place} has no atlas ${quoted(state.atlas)}.` };
  }
  const known = source.seen === undefined || state.model === "" || models.some(({ name }) => name === state.model);
  return known ? null : { what: "model", words: `${place} has no model ${quoted(state.model)}.` };
}

interface Props {
  missing: MissingThing;
  source: Source;
  state: State;
  setState: SetState;
  views: readonly View[];
}

/** Says what is missing, and offers what is there. */
export function Missing({ missing, source, setState, views }: Props) {
  const { models, atlases } = source.about;
  const offers: [string, Partial<State>][] = {
    view: views.map(({ name, title }): [string, Partial<State>] => [title, { view: name }]),
    model: models.map(({ name }): [string, Partial<State>] => [name, { model: name }]),
    atlas: atlases.map(({ id, name }): [string, Partial<State>] => [name, { atlas: id, colour: "", selected: [] }]),
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
