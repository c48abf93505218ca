/** What is known of a model's heads before anything is asked of it. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { AtlasData, ModelInfo, PredictRequest, Seen } from "../data/api";
import { atlasIn, type Source } from "../data/source";
import type { Grid } from "../parts/headgrid";
import { useLoaded } from "../parts/hooks";
import type { State } from "../shell/state";
import { headKey, parseHeads } from "./headnames";

const NO_GRIDS: readonly Grid[] = [];

/** The grids of a model's stacks, from the text that it has read; empty when it has read none. */
export function gridsOf(model: ModelInfo | undefined, seen: Seen | null): readonly Grid[] {
  return seen !== null && model !== undefined && seen.model === model.name ? seen.stacks : NO_GRIDS;
}

export interface Known {
  grids: readonly Grid[];
  /** The numbers of heads; null while they are on their way. */
  atlas: AtlasData | null;
  /** Whether these are of the text alone, for want of an atlas of the model. */
  ofText: boolean;
  error: string;
}

/** The heads of a model, with the numbers of the atlas that is open, of another one of the model, or of the text. */
export function useKnown(
  source: Source,
  state: State,
  model: ModelInfo | undefined,
  seen: Seen | null,
  text: PredictRequest,
): Known {
  const name = model?.name ?? "";
  const open = atlasIn(source.about, { atlas: state.atlas, model: name });
  const id = name === "" ? undefined : (open ?? atlasIn(source.about, { atlas: "", model: name }))?.id;
  const ofText = id === undefined;
  const load = (signal: AbortSignal): Promise<AtlasData> =>
    id !== undefined
      ? source.atlas!(id, signal)
      : source.textAtlas!({ model: text.model, text_a: text.text_a, text_b: text.text_b ?? null }, signal);
  const can = id !== undefined ? source.atlas : source.textAtlas;
  const wanted = can !== undefined && model !== undefined && (!ofText || text.text_a.trim() !== "");
  const about = ofText ? JSON.stringify([text.text_a, text.text_b]) : id;
  const { value, error } = useLoaded(wanted ? load : null, [source, model?.name, about, wanted]);
  const atlas = value !== null && value.stacks.length > 0 ? value : null;
  const grids = useMemo(() => {
    const known = gridsOf(model, seen);
    return known.length > 0 ? known : (atlas?.stacks ?? NO_GRIDS);
  }, [model, seen, atlas]);
  return { grids, atlas, ofText, error: error ?? "" };
}

const MOMENT = 250; // milliseconds: typing must not flood the server

/** The heads that `request` names: read here where that can be, else looked up by the server; it is told why when asked. */
export function useChosen(source: Source, grids: readonly Grid[], request: PredictRequest) {
  const words = request.edits?.[0]?.heads ?? "";
  const choice = useMemo(() => parseHeads(words, grids), [words, grids]);
  const isLookedUp = choice.lookedUp && choice.error === "";
  const key = isLookedUp ? JSON.stringify([request.model, request.text_a, request.text_b, words]) : "";
  const settled = useSettled(key);
  const { value } = useLoaded(
    settled !== "" && settled === key && source.select ? (signal) => source.select!(request, signal) : null,
    [source, settled === key ? key : ""],
  );
  const found = useMemo(
    () =>
      new Set((isLookedUp ? (value?.heads ?? []) : []).map(({ stack, layer, head }) => headKey(stack, layer, head))),
    [isLookedUp, value],
  );
  return isLookedUp ? { heads: found, error: "" } : { heads: choice.heads, error: choice.error };
}

/** The value once it has stayed the same for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), MOMENT);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
