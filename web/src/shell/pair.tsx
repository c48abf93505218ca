/** Two texts, or one text in two models, side by side: one view, one head, one scale; what is pointed at shows in both. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Seen } from "../data/api";
import { type Source, stackOf } from "../data/source";
import { axesOf, errorOf, hasSentences, paired, shortened } from "../data/tokens";
import { within } from "./choices";
import { off } from "./edit";
import { AS_IS, setting } from "./setting";
import type { SetState, State } from "./state";
import type { Across, Spot, View, ViewProps } from "./view";

/** The second model, and what it reads; no model where nothing is shown beside. */
const model = setting("beside", AS_IS, { isStep: true });
const textA = setting("beside-a", AS_IS, { isStep: true });
const textB = setting("beside-b", AS_IS, { isStep: true });

export const PAIR_SETTINGS = [model, textA, textB];

/** The state as the second text has it, on a page that can read one; null where none is asked for. */
export function besideState(state: State): State | null {
  const name = model.of(state);
  if (name === "") return null;
  // Heads of one model that are switched off mean nothing in another.
  const settings = name === state.model ? state.settings : { ...state.settings, ...off.to("") };
  return { ...state, settings, model: name, a: textA.of(state), b: textB.of(state), token: null };
}

/** The change that shows such a text beside; without one, none is. */
export function besideChange(typed: Partial<Pick<State, "model" | "a" | "b">> | null): Partial<State> {
  if (typed === null) return { settings: { ...model.to(""), ...textA.to(""), ...textB.to("") } };
  return {
    settings: {
      ...(typed.model === undefined ? {} : model.to(typed.model)),
      ...(typed.a === undefined ? {} : textA.to(typed.a)),
      ...(typed.b === undefined ? {} : textB.to(typed.b)),
    },
  };
}

interface Pane {
  source: Source;
  seen: Seen;
}

interface Props {
  panes: readonly [Pane, Pane];
  view: View;
  /** As the first pane has it. */
  state: State;
  setState: SetState;
  dark: boolean;
  show: (props: ViewProps) => ComponentChildren;
}

type Token = Pick<State, "token" | "side">;

export function Pair({ panes, view, state, setState, dark, show }: Props) {
  const [first, second] = panes;
  const other = besideIn({ ...state, token: null }, second.seen);
  const links = useLinks(first.seen, second.seen, state, other);
  const [over, setOver] = useState<{ pane: number; spot: Spot } | null>(null);
  const [largest, setLargest] = useState<readonly [number, number]>([0, 0]);
  // A token of the second text that the first one has not is held there alone.
  const [alone, setAlone] = useState<Token | null>(null);
  const held = state.token === null ? null : (links[state.side].there[state.token] ?? null);
  const states = [state, { ...other, ...(alone ?? { token: held, side: state.side }) }];
  const hold: SetState = ({ token, side = state.side, ...change }) => {
    const here = typeof token === "number" ? (links[side].back[token] ?? null) : null;
    setAlone(typeof token === "number" && here === null ? { token, side } : null);
    setState(token === undefined ? change : { ...change, token: here, side });
  };
  const holdFirst: SetState = (change) => {
    setAlone(null);
    setState(change);
  };
  const across = (pane: 0 | 1): Across => {
    const way = pane === 0 ? "back" : "there";
    const to = (side: "query" | "key", index: number | null): number | null =>
      index === null ? null : (links[side][way][index] ?? null);
    const spot = over === null || over.pane === pane ? null : over.spot;
    const mapped = spot && { query: to("query", spot.query), key: to("key", spot.key) };
    const isThere =
      mapped && (spot.query === null) === (mapped.query === null) && (spot.key === null) === (mapped.key === null);
    return {
      over: isThere ? mapped : null,
      setOver: (spot) => setOver(spot === null ? null : { pane, spot }),
      largest: Math.max(...largest),
      setLargest: (most) => setLargest((both) => (pane === 0 ? [most, both[1]] : [both[0], most])),
    };
  };
  const several = new Set(panes.map(({ seen }) => seen.model)).size > 1;
  const error = Math.max(...panes.map(({ seen }) => errorOf(seen, state.level)));
  const scale = view.scale?.(state, Math.max(...largest), error);
  return (
    <>
      {scale && (
        <p class="hs-scale-note" role="note">
          One scale for both: {scale}.{view.controls.includes("level") && " A token that both have is marked in both."}
        </p>
      )}
      <div class="hs-pair">
        {panes.map(({ source, seen }, pane) => (
          <section key={pane} class="hs-pane" aria-label={pane === 0 ? "First" : "Second"}>
            <h3 title={[seen.text_a, seen.text_b].filter(Boolean).join(" / ")}>
              {several && <strong>{seen.model}</strong>}{" "}
              <bdi>{shortened([seen.text_a, seen.text_b].filter(Boolean).join(" / "), 90)}</bdi>
            </h3>
            {show({
              source,
              seen,
              state: states[pane]!,
              setState: pane === 0 ? holdFirst : hold,
              dark,
              across: across(pane as 0 | 1),
            })}
          </section>
        ))}
      </div>
    </>
  );
}

/** The state as the second text can show it: sentences that it has not are no filter. */
export function besideIn(state: State, seen: Seen): State {
  const shown = within(state, seen);
  return hasSentences(seen, stackOf(seen, shown.stack)) ? shown : { ...shown, filter: "all" };
}

/** Which token of one text stands for which of the other, on either side. */
function useLinks(one: Seen, two: Seen, state: State, other: State) {
  return useMemo(() => {
    const from = axesOf(one, stackOf(one, state.stack), state.level);
    const to = axesOf(two, stackOf(two, other.stack), state.level);
    return { query: paired(from.queries, to.queries), key: paired(from.keys, to.keys) };
  }, [one, two, state.stack, other.stack, state.level]);
}
