/** Matrix view: one head's map as a heat map. */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Seen, StackShape } from "../data/api";
import { type Source, stackOf, subjectOf } from "../data/source";
import { shortened, visible } from "../data/tokens";
import type { WeightGrid } from "../data/weights";
import { type Axes, gridOf, useAxes } from "../data/weights";
import { HeadDetail } from "../head/detail";
import { Busy, Trouble } from "../parts/controls";
import { useLayerMaps, useSize } from "../parts/hooks";
import { asNumber } from "../parts/numbers";
import { Save } from "../parts/save";
import { leastDrawn } from "../shell/choices";
import { useKeys } from "../shell/keys";
import { AS_IS, setting } from "../shell/setting";
import type { SetState, State } from "../shell/state";
import { Legend, signWords } from "./legend";
import "./matrix.css";
import type { Across, View, ViewProps } from "../shell/view";
import { drawMatrix } from "./draw";
import { matrixSvg, weightRows } from "./export";
import { useHandling } from "./handle";
import { largestIn, matrixPicture } from "./pixels";
import { kept, type Place, parseBox, printBox, type Room, whole, zoomed } from "./place";

/** What of the matrix is in sight: see place.ts. */
const sight = setting("x-box", AS_IS, { scope: "tokens" });

const HALF = 8; // pixels under and right of the cells: half of the last label
const STEP = 1.4; // how much nearer a click or key goes

function MatrixView({ source, seen, state, setState, dark, across }: ViewProps) {
  const stack = stackOf(seen!, state.stack);
  const axes = useAxes(seen!, stack, state);
  const { value: maps, error } = useLayerMaps(source, seen!, state.stack, state.layer);
  const head = state.heads[0] ?? 0;
  const grid = useMemo(() => maps && gridOf(maps, head, seen!.levels, axes), [maps, head, axes]);
  if (error !== null) return <Trouble>{error}</Trouble>;
  if (maps === null || grid === null) return <Busy>Loading the maps …</Busy>;
  return (
    <Matrix {...{ source, seen: seen!, stack, axes, grid, state, setState, dark, across, head }} layer={maps.layer} />
  );
}

interface MatrixProps {
  source: Source;
  seen: Seen;
  stack: StackShape;
  axes: Axes;
  grid: WeightGrid;
  state: State;
  setState: SetState;
  dark: boolean;
  across: Across | undefined;
  layer: number;
  head: number;
}

function Matrix(props: MatrixProps) {
  const { source, seen, stack, axes, grid, state, setState, dark, across, layer, head } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const narrow = size.width < 500;
  const margin = { left: narrow ? 84 : 130, top: narrow ? 72 : 96 };
  const room: Room = {
    width: Math.max(1, size.width - margin.left - HALF),
    height: Math.max(1, size.height - margin.top - HALF),
    queries: grid.queries,
    keys: grid.keys,
  };
  const place = parseBox(sight.of(state), room);
  const setPlace = (next: Place): void => setState({ settings: sight.to(printBox(next, room)) });
  const pin = (side: State["side"], index: number, how: "toggle" | "hold" = "toggle"): void =>
    setState(
      how === "toggle" && state.token === index && state.side === side ? { token: null } : { token: index, side },
    );
  const { over: here, handlers } = useHandling(canvas, {
    room,
    place,
    margin,
    setPlace,
    wheelNeedsControl: source.kind === "widget",
    onClick: pin,
  });
  useEffect(() => across?.setOver(here), [here?.query, here?.key]);
  const there = across?.over ?? null;
  const over = here ?? (there === null ? null : { query: there.query!, key: there.key! });
  const threshold = leastDrawn(matrixView, state, seen, stack);
  const count = state.side === "query" ? grid.queries : grid.keys;
  const held = state.token === null || state.token >= count ? null : { side: state.side, index: state.token };
  const active = over === null ? held : { side: "query" as const, index: over.query };
  const shown = useMemo(() => ({ heads: [head], grids: [grid] }), [head, grid]);
  const own = useMemo(() => (state.scale === "max" ? largestIn(grid, axes) : 1), [grid, axes, state.scale]);
  useEffect(() => across?.setLargest(own), [own]);
  const largest = Math.max(own, across?.largest ?? 0);
  const image = useMemo(
    () => matrixPicture(grid, axes, { threshold, scale: state.scale, dark }, largest),
    [grid, axes, threshold, state.scale, dark, largest],
  );
  const zoom = (factor: number): void => setPlace(zoomed(place, factor, room.width / 2, room.height / 2, room));
  useKeys(box, source, (event) => {
    if (event.key === "+" || event.key === "=") zoom(STEP);
    else if (event.key === "-") zoom(1 / STEP);
    else if (event.key === "0") setPlace(whole(room));
    else if (event.shiftKey && event.key.startsWith("Arrow")) setPlace(kept(pushed(place, event.key, room), room));
    else return false;
    return true;
  });
  useLayoutEffect(() => {
    if (canvas.current === null || size.height === 0) return;
    drawMatrix(canvas.current, { size, room, place, margin, image, axes, over, held, searched: state.q, dark });
  });
  return (
    <div class="hs-matrix" data-layer={layer} data-head={head}>
      <div class="hs-matrix-bar">
        <span>
          Head{" "}
          <strong>
            {layer}.{head}
          </strong>
        </span>
        <div class="hs-switch" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoom(1 / STEP)}>
            −
          </button>
          <button type="button" aria-label="Whole map" title="Whole map (0)" onClick={() => setPlace(whole(room))}>
            all
          </button>
          <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(STEP)}>
            +
          </button>
        </div>
        <Legend {...{ setState, dark, largest, seen }} scale={state.scale} />
        <Save
          name={`${subjectOf(seen)} ${layer}.${head}`}
          svg={() =>
            matrixSvg(
              matrixPicture(grid, axes, { threshold, scale: state.scale, dark: false }, largest),
              axes,
              `Attention of head ${layer}.${head} of ${subjectOf(seen)}`,
            )
          }
          table={() => weightRows([`${layer}.${head}`], [grid], axes)}
        />
        <Read {...{ grid, axes, over }} />
      </div>
      <div class="hs-matrix-part">
        <div ref={box} class="hs-matrix-box">
          <canvas
            ref={canvas}
            role="img"
            aria-label={`Attention of head ${layer}.${head}: ${grid.queries} queries down, ${grid.keys} keys across`}
            {...(size.height > 0 && {
              "data-cell": place.cell,
              "data-left": margin.left + place.x,
              "data-top": margin.top + place.y,
            })}
            {...handlers}
          />
        </div>
        <HeadDetail {...{ axes, active, layer, threshold, dark, pin }} {...shown} causal={stack.causal} />
      </div>
    </div>
  );
}

/** The place after a step of a third of the room. */
function pushed(place: Place, key: string, room: Room): Place {
  const across = key === "ArrowLeft" ? 1 : key === "ArrowRight" ? -1 : 0;
  const down = key === "ArrowUp" ? 1 : key === "ArrowDown" ? -1 : 0;
  return { ...place, x: place.x + (across * room.width) / 3, y: place.y + (down * room.height) / 3 };
}

interface ReadProps {
  grid: WeightGrid;
  axes: Axes;
  over: { query: number; key: number } | null;
}

/** The weight under the pointer. */
function Read({ grid, axes, over }: ReadProps) {
  if (over === null) return <span class="hs-read hs-muted">Point at a cell, or tap it, for its {axes.amount}.</span>;
  const { query, key } = over;
  const weight = grid.at(query, key);
  const out = !axes.query[query] || !axes.key[key];
  return (
    <span class="hs-read" role="status" data-query={query} data-key={key} data-weight={weight.toFixed(6)}>
      <bdi>{visible(shortened(axes.queries.labels[query]!, 24))}</bdi> <span class="hs-muted">({query})</span> →{" "}
      <bdi>{visible(shortened(axes.keys.labels[key]!, 24))}</bdi> <span class="hs-muted">({key})</span>{" "}
      <strong class="hs-number">{asNumber(weight, axes.error, grid.signed)}</strong>
      {axes.amount === "signed share" && <span class="hs-muted"> {signWords(weight)}</span>}
      {out && <span class="hs-muted"> (left out by the filter)</span>}
    </span>
  );
}

export const matrixView: View = {
  name: "matrix",
  title: "Matrix",
  about: "The map of one head: queries down, keys across. Wheel or + and − to zoom, drag to move.",
  needs: "text",
  controls: ["layer", "head", "weigh", "filter", "level", "threshold"],
  settings: [sight],
  scale: (_, largest, error) => `colours run from 0 to a weight of ${largest === 1 ? 1 : asNumber(largest, error)}`,
  keys: [
    ["+ − 0", "zoom in, zoom out, whole map"],
    ["Shift + arrows", "move"],
  ],
  component: MatrixView,
};
