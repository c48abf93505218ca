/** The neuron view: from a query's vector over every key's to the weights. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Neurons, Seen, StackShape } from "../data/api";
import { type Source, stackOf } from "../data/source";
import { type Axis, axesOf, axisOf, matches, moved, shortened, tokensOf, visible } from "../data/tokens";
import { weightsOf } from "../data/weights";
import { Busy, Trouble } from "../parts/controls";
import { useLayerMaps, useLoaded } from "../parts/hooks";
import { asNumber, shown } from "../parts/numbers";
import { useKeys } from "../shell/keys";
import { setting } from "../shell/setting";
import type { State } from "../shell/state";
import type { View, ViewProps } from "../shell/view";
import { Queries } from "./queries";
import { Ranking } from "./ranking";
import { carriersOfPair, carriersOfQuery, largestGap, type QueryScores, queryScores, visibleKeys } from "./score";
import { NeuronTable } from "./table";
import "./neuron.css";

/** The piece that is held where it is not the first of its word; NaN for the first. */
const inside = setting<number>(
  "x-piece",
  { parse: (text) => Number(text || Number.NaN), print: (piece) => (Number.isNaN(piece) ? "" : String(piece)) },
  { scope: "token" },
);

const ROUNDING = 0.0006; // numbers are sent with as many digits as keep the softmax within 0.0005
const FRAMED = 5;

function NeuronView(props: ViewProps) {
  const { source, seen, state } = props;
  if (seen === null) return null;
  const stack = stackOf(seen, state.stack);
  const head = state.heads[0] ?? 0;
  const load = source.neurons;
  const { value, error, busy } = useLoaded(
    load ? async (signal) => ({ seen, neurons: await load(stack.name, state.layer, head, signal) }) : null,
    [source, seen, stack.name, state.layer, head],
  );
  const fresh = value && value.seen === seen && value.neurons.stack === stack.name;
  if (error) return <Missing {...props} seen={seen} error={error} />;
  if (!value || !fresh)
    return (
      <Busy>
        Queries and keys of head {state.layer}.{head} …
      </Busy>
    );
  return (
    <div class="nv" aria-busy={busy}>
      <Body {...props} seen={seen} stack={stack} neurons={value.neurons} />
    </div>
  );
}

/** The page holds the neurons of some heads only: say so, and lead there. */
function Missing({ seen, error, setState }: ViewProps & { seen: Seen; error: string }) {
  const held = (seen.neuron_heads ?? []).map((name) => name.split("/")).slice(0, 24);
  return (
    <>
      <Trouble>{error}</Trouble>
      {held.length > 0 && (
        <p class="nv-held">
          {held.map(([stack = "", layer = "", head = ""]) => (
            <button
              type="button"
              class="hs-button"
              key={`${stack}/${layer}.${head}`}
              onClick={() => setState({ stack, layer: Number(layer), heads: [Number(head)] })}
            >
              Show {seen.stacks.length > 1 ? `${stack} ` : ""}
              {layer}.{head}
            </button>
          ))}
        </p>
      )}
    </>
  );
}

/** What a reader must know about these scores: in the words that came with them, else from what they are made of. */
export function notesOn(neurons: Neurons, rotated: boolean): string[] {
  if (neurons.note) return [neurons.note];
  const notes: string[] = [];
  if (neurons.rotated || rotated) notes.push("Queries and keys are those after rotation by position (RoPE).");
  if (neurons.bias) notes.push("A bias for the position is added to each score; no neuron carries it.");
  if (neurons.soft_cap != null) notes.push(`A soft cap holds scores within ±${shown(neurons.soft_cap)}.`);
  if (neurons.sink != null)
    notes.push(`A sink takes part in the softmax (score ${shown(neurons.sink)}), so weights add up to less than 1.`);
  return notes;
}

/** Where one begins: a decoder's last token, which sees the most; else the first that is a word. */
export function firstQuery(axis: Axis, causal: boolean): number {
  return causal ? Math.max(0, axis.length - 1) : Math.max(0, axis.special.indexOf(false));
}

/** The piece that the state's token stands for; `otherwise` when it names none. */
export function pieceOf(token: number | null, axis: Axis, otherwise = 0): number {
  const piece = token === null ? otherwise : (axis.starts[Math.min(token, axis.length - 1)] ?? 0);
  return Math.max(0, piece);
}

/** The piece that asks. Where the state counts words it is a word's first, unless the link names another of its pieces. */
export function heldPiece(state: Pick<State, "token" | "settings">, axis: Axis, otherwise = 0): number {
  const { token } = state;
  const whole = pieceOf(token, axis, otherwise);
  const named = inside.of(state);
  const isInside = token !== null && named > whole && named < (axis.starts[token + 1] ?? 0);
  return isInside && Number.isInteger(named) ? named : whole;
}

/** The change that holds a piece, whether the state counts pieces or words. */
export function holding(piece: number, pieces: Axis, axis: Axis): Partial<State> {
  const token = moved(piece, pieces, axis);
  const isFirst = token === null || axis.starts[token] === piece;
  return { token, side: "query", settings: inside.to(isFirst ? Number.NaN : piece) };
}

function Body({
  source,
  seen,
  state,
  setState,
  dark,
  stack,
  neurons,
}: ViewProps & { seen: Seen; stack: StackShape; neurons: Neurons }) {
  const pieces = useMemo(() => axesOf(seen, stack, "piece"), [seen, stack]);
  const axis = useMemo(() => axisOf(tokensOf(seen, stack.queries), state.level), [seen, stack, state.level]);
  const [over, setOver] = useState<number | null>(null);
  const [key, setKey] = useState<number | null>(null);
  const [pinned, setPinned] = useState<number | null>(null);
  const [neuron, setNeuron] = useState<number | null>(null);
  useEffect(() => setPinned(null), [seen, stack]);
  const first = firstQuery(pieces.queries, stack.causal);
  const token = state.side === "query" ? state.token : null;
  const chosen = Math.min(heldPiece({ ...state, token }, axis, first), pieces.queries.length - 1);
  const query = over ?? chosen;
  const scores = useMemo(() => queryScores(neurons, query), [neurons, query]);
  const mapped = useMapped(source, seen, neurons, query);
  const gap = mapped ? largestGap(scores.weights, mapped) : 0;
  const differs = !neurons.agrees || gap > seen.max_error + ROUNDING;
  const pair = key ?? pinned;
  const [from, to] = visibleKeys(neurons, query);
  const ofPair = pair !== null && pair >= from && pair < to;
  const carriers = useMemo(
    () => (ofPair ? carriersOfPair(neurons, query, pair) : carriersOfQuery(neurons, query, scores.weights)),
    [neurons, query, ofPair, pair, scores],
  );
  const alone = to - from === 1;
  const label = (side: Axis, index: number) => shortened(visible(side.labels[index] ?? ""), 24);
  const choose = (piece: number) => {
    setOver(null); // what was chosen is shown, also where the mouse rests on another
    setState(holding(piece, pieces.queries, axis));
  };
  const body = useRef<HTMLDivElement>(null);
  useKeys(body, source, (event) => {
    if (event.shiftKey || (event.key !== "j" && event.key !== "k")) return false;
    choose(Math.max(0, Math.min(pieces.queries.length - 1, chosen + (event.key === "j" ? 1 : -1))));
    return true;
  });
  const found = useMemo(
    () => ({ queries: matches(pieces.queries, state.q), keys: matches(pieces.keys, state.q) }),
    [pieces, state.q],
  );
  const names = useMemo(
    () => ({ queries: pieces.queries.labels.map(visible), keys: pieces.keys.labels.map(visible) }),
    [pieces],
  );
  // Hovering must not draw hundreds of tokens anew.
  const list = useMemo(
    () => <Queries labels={names.queries} chosen={chosen} found={found.queries} onChoose={choose} onOver={setOver} />,
    [pieces, chosen, found, axis, setState],
  );
  const notes = notesOn(neurons, seen.rotated);
  if (differs && mapped) notes.push(`The softmax differs from the map by up to ${shown(gap)}: both are shown.`);
  return (
    <>
      {notes.length > 0 && (
        <p class="nv-notes" role="note">
          {notes.join(" ")}
        </p>
      )}
      <div class="nv-body" ref={body}>
        {list}
        <NeuronTable
          {...{ neurons, query, scores, dark, neuron }}
          mapped={differs ? mapped : null}
          error={seen.max_error}
          labels={names.keys}
          queryLabel={label(pieces.queries, query)}
          found={found.keys}
          top={alone ? [] : carriers.slice(0, FRAMED)}
          key_={pair}
          pinned={pinned !== null && pinned === pair}
          onKey={setKey}
          onPin={(one) => setPinned(one === pinned ? null : one)}
        />
        <Ranking
          {...{ carriers, neuron }}
          onNeuron={setNeuron}
          {...(alone
            ? {
                title: `Where “${label(pieces.queries, query)}” looks`,
                about: `It sees one key, “${label(pieces.keys, from)}”: there is nothing to choose, and its weight is 1 whatever the score.`,
                facts: pairFacts(neurons, query, from, scores, mapped, seen.max_error),
                carriers: [],
              }
            : ofPair
              ? {
                  title: `What carries “${label(pieces.queries, query)}” → “${label(pieces.keys, pair)}”`,
                  about: "A bar is what the neuron adds to this score.",
                  facts: pairFacts(neurons, query, pair, scores, mapped, seen.max_error),
                }
              : {
                  title: `What carries where “${label(pieces.queries, query)}” looks`,
                  about:
                    "A bar is what the neuron gives the keys that get the attention beyond what it gives the average key.",
                  facts: [],
                })}
        />
      </div>
    </>
  );
}

/** (key) the weights that the map has for a query; null while it is on its way. */
function useMapped(source: Source, seen: Seen, neurons: Neurons, query: number): Float64Array | null {
  const { layer, head } = neurons;
  const maps = useLayerMaps(source, seen, neurons.stack, layer).value;
  return useMemo(() => {
    if (maps === null || maps.layer !== layer) return null;
    const stored = weightsOf(maps, head, seen.levels);
    return Float64Array.from({ length: maps.keys }, (_, key) => stored.at(query * maps.keys + key));
  }, [maps, layer, head, seen, query]);
}

/** How one weight comes about, number by number. */
function pairFacts(
  neurons: Neurons,
  query: number,
  key: number,
  { dots, scores, weights }: QueryScores,
  mapped: ArrayLike<number> | null,
  error: number,
): [string, string][] {
  const dot = dots[key] ?? 0;
  const facts: [string, string][] = [
    ["q · k", shown(dot / (neurons.scale || 1))],
    ["scaled", shown(dot)],
  ];
  if (neurons.bias) facts.push(["bias", shown(neurons.bias[query]?.[key] ?? 0)]);
  if (neurons.bias || neurons.soft_cap != null) facts.push(["score", shown(scores[key])]);
  facts.push(["softmax", asNumber(weights[key] ?? 0, ROUNDING)]);
  if (mapped) facts.push(["in the map", asNumber(mapped[key] ?? 0, error)]);
  return facts;
}

export const neuronView: View = {
  name: "neuron",
  title: "Neurons",
  about:
    "How a query and each key make a score: q, k, q × k, q · k, softmax, and which neurons carry it. Blue is positive, orange negative.",
  needs: "neurons",
  controls: ["weigh", "layer", "head"],
  settings: [inside],
  keys: [["j k", "next query token, previous query token"]],
  component: NeuronView,
};
