/** Head view: tokens left and right, lines between them as strong as the attention (after Vig 2019). */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { StackShape } from "../data/api";
import { stackOf, subjectOf } from "../data/source";
import { type Axis, matches, shortened, visible } from "../data/tokens";
import { type Axes, gridOf, useAxes } from "../data/weights";
import { weightRows } from "../matrix/export";
import { SignedBar } from "../matrix/legend";
import { largestIn } from "../matrix/pixels";
import { prepare } from "../parts/canvas";
import { translucent } from "../parts/colour";
import { Busy, Trouble } from "../parts/controls";
import { useLayerMaps, useSize } from "../parts/hooks";
import { asNumber } from "../parts/numbers";
import { Save } from "../parts/save";
import { leastDrawn, shownHeads } from "../shell/choices";
import "./head.css";
import type { WeightGrid } from "../data/weights";
import type { Spot, View, ViewProps } from "../shell/view";
import { HeadDetail } from "./detail";
import { linesSvg } from "./export";
import { faintest, type Lines, lineColour, linesOf, opacity, reachOf, reachTo, type Window } from "./lines";

const ROW = 20; // CSS pixels
const LIMIT = 5000; // lines in one picture; more take longer than a blink to draw
const LIMIT_MOVING = 900; // in the first picture of a layer, and while the board is being scrolled
const STILL = 140; // milliseconds without change, after which all lines are drawn

export interface Active {
  side: "query" | "key";
  index: number;
}

function HeadView({ source, seen, state, setState, dark, across }: ViewProps) {
  const stack = stackOf(seen!, state.stack);
  const axes = useAxes(seen!, stack, state);
  const { value: maps, error } = useLayerMaps(source, seen!, state.stack, state.layer);
  const chosen = shownHeads(state, stack).join();
  const shown = useMemo(() => {
    const heads = chosen.split(",").map(Number);
    const grids = maps === null ? [] : heads.map((head) => gridOf(maps, head, seen!.levels, axes));
    return { heads, grids };
  }, [maps, chosen, axes]);
  const [over, setOver] = useState<Active | null>(null);
  const point = (spot: Active | null): void => {
    setOver(spot);
    across?.setOver(spot && { query: null, key: null, [spot.side]: spot.index });
  };
  useEffect(() => point(null), [axes]);
  const largest = useMemo(
    () => (across === undefined ? 0 : Math.max(0, ...shown.grids.map((grid) => largestIn(grid, axes)))),
    [across === undefined, shown, axes],
  );
  useEffect(() => across?.setLargest(largest), [largest]);
  const reach = across === undefined ? null : reachTo(across.largest);
  const count = (side: Active["side"]): number => (side === "query" ? axes.queries : axes.keys).length;
  const held = state.token !== null && state.token < count(state.side) ? state.token : null;
  const threshold = leastDrawn(headView, state, seen!, stack);
  const active = over ?? spotted(across?.over) ?? (held === null ? null : { side: state.side, index: held });

  if (error !== null) return <Trouble>{error}</Trouble>;
  if (maps === null) return <Busy>Loading the maps …</Busy>;
  const pin = (side: Active["side"], index: number): void =>
    setState(state.token === index && state.side === side ? { token: null } : { token: index, side });
  return (
    <div class="hs-head" data-layer={maps.layer}>
      <Board
        {...{ axes, stack, active, threshold, dark, pin, reach }}
        setOver={point}
        {...shown}
        searched={state.q}
        held={held === null ? null : { side: state.side, index: held }}
      />
      <HeadDetail {...{ axes, active, threshold, dark, pin }} {...shown} layer={maps.layer} causal={stack.causal}>
        {seen!.signed && <SignedBar {...{ dark }} seen={seen!} />}
        <Save
          name={`${subjectOf(seen!)} layer ${maps.layer}`}
          svg={() =>
            linesSvg(axes, shown.heads, shown.grids, threshold, `Attention of ${subjectOf(seen!)}, layer ${maps.layer}`)
          }
          table={() =>
            weightRows(
              shown.heads.map((head) => `${maps.layer}.${head}`),
              shown.grids,
              axes,
            )
          }
        />
      </HeadDetail>
    </div>
  );
}

/** The token that is pointed at beside. */
function spotted(spot: Spot | null | undefined): Active | null {
  if (spot == null) return null;
  return spot.query !== null ? { side: "query", index: spot.query } : { side: "key", index: spot.key! };
}

interface BoardProps {
  axes: Axes;
  stack: StackShape;
  heads: number[];
  grids: WeightGrid[];
  active: Active | null;
  held: Active | null;
  threshold: number;
  /** The weight of a line at full strength, where that is not the strongest in sight. */
  reach: number | null;
  searched: string;
  dark: boolean;
  pin: (side: Active["side"], index: number) => void;
  setOver: (over: Active | null) => void;
}

/** Both columns of tokens and the lines between them; only what is in sight is there. */
function Board(props: BoardProps) {
  const { axes, heads, grids, active, threshold, reach, dark, setOver } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const size = useSize(scroller);
  const [top, setTop] = useState(0);
  const total = Math.max(axes.queries.length, axes.keys.length);
  const column = Math.round(Math.min(230, Math.max(96, size.width * 0.3)));
  const first = Math.max(0, Math.floor(top / ROW));
  const last = Math.min(total, Math.ceil((top + size.height) / ROW));
  const place = {
    width: Math.max(40, size.width - 2 * column),
    height: Math.min(size.height, Math.max(total * ROW, 1)),
    top,
    rows: { from: first, to: last },
  };
  const [drawn, setDrawn] = useState({ count: 0, of: 0 });
  const picture = { axes, heads, grids, threshold, reach, dark, ...place };
  useHeldInSight(scroller, props.held);

  return (
    <div class="hs-board">
      <div class="hs-board-heads" aria-hidden="true" style={{ "--column": `${column}px` }}>
        <span>{props.stack.name === "cross" ? "decoder: from" : "from"}</span>
        {drawn.of > LIMIT && (
          <span>
            the strongest {drawn.count} of {drawn.of} lines in sight
          </span>
        )}
        <span>{props.stack.name === "cross" ? "to: encoder" : "to"}</span>
      </div>
      <div
        ref={scroller}
        class="hs-board-scroll"
        tabIndex={0}
        role="group"
        aria-label="Attention lines"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onPointerLeave={() => setOver(null)}
      >
        <div class="hs-board-inner" style={{ height: `${total * ROW}px` }}>
          <div class="hs-lines" aria-hidden="true" style={{ marginLeft: `${column}px` }}>
            <LineCanvas {...picture} only={null} faded={active !== null} onDrawn={setDrawn} />
            {active !== null && <LineCanvas {...picture} only={active} faded={false} onDrawn={null} />}
          </div>
          <Column {...props} axis={axes.queries} side="query" {...{ first, last, column }} />
          <Column {...props} axis={axes.keys} side="key" {...{ first, last, column }} />
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  axes: Axes;
  heads: number[];
  grids: WeightGrid[];
  threshold: number;
  reach: number | null;
  dark: boolean;
  width: number;
  height: number;
  top: number;
  rows: Window;
  only: Active | null;
  faded: boolean;
  onDrawn: ((drawn: { count: number; of: number }) => void) | null;
}

/** The lines. Those of one token are on a canvas of their own, so that pointing draws only these anew. */
function LineCanvas(props: LineProps) {
  const { axes, grids, threshold, reach, dark, width, height, top, rows, only } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null || height === 0) return;
    const draw = (limit: number): boolean => {
      const { count, of } = drawLines(element, props, limit);
      const isAll = count === of || limit === LIMIT;
      if (isAll) props.onDrawn?.({ count, of });
      return isAll;
    };
    if (draw(only === null ? LIMIT_MOVING : LIMIT)) return;
    const timer = setTimeout(() => draw(LIMIT), STILL);
    return () => clearTimeout(timer);
  }, [axes, grids, threshold, reach, dark, width, height, top, rows.from, rows.to, only?.side, only?.index]);
  return <canvas ref={canvas} class={props.faded ? "hs-faded" : ""} data-of={only === null ? "all" : "token"} />;
}

/** Draws the strongest lines. */
function drawLines(canvas: HTMLCanvasElement, props: LineProps, limit: number): Lines {
  const { heads, grids, width, height, top } = props;
  const lines = linesOf(grids, { ...props, ...props.axes, limit });
  const context = prepare(canvas, width, height);
  const signed = grids[0]?.signed ?? false;
  const reach = props.reach ?? reachOf(lines);
  canvas.dataset.reach = String(reach);
  const middle = ROW / 2 - top;
  for (let line = 0; line < lines.count; line++) {
    const weight = lines.weight[line]!;
    context.globalAlpha = opacity(weight, reach, heads.length);
    context.lineWidth = 0.7 + 2.3 * Math.min(1, Math.abs(weight));
    context.strokeStyle = lineColour(heads[lines.head[line]!]!, weight, signed, props.dark);
    context.beginPath();
    context.moveTo(0, lines.query[line]! * ROW + middle);
    context.lineTo(width, lines.key[line]! * ROW + middle);
    context.stroke();
  }
  canvas.dataset.lines = String(lines.count);
  canvas.dataset.linesOf = String(lines.of);
  return lines;
}

/** A token held fast is brought into sight when it is chosen from elsewhere (a link, a key). */
function useHeldInSight(scroller: { current: HTMLDivElement | null }, held: Active | null): void {
  useEffect(() => {
    const element = scroller.current;
    if (element === null || held === null) return;
    const at = held.index * ROW;
    if (at < element.scrollTop || at + ROW > element.scrollTop + element.clientHeight) {
      element.scrollTop = at - element.clientHeight / 2;
    }
  }, [held?.side, held?.index]);
}

interface ColumnProps extends BoardProps {
  axis: Axis;
  side: Active["side"];
  first: number;
  last: number;
  column: number;
}

function Column(props: ColumnProps) {
  const { axis, axes, side, first, last, column, active, held, heads, grids, dark } = props;
  const found = useMemo(() => matches(axis, props.searched), [axis, props.searched]);
  const passes = axes[side];
  const signed = grids[0]?.signed ?? false;
  const rows = [];
  for (let index = first; index < Math.min(last, axis.length); index++) {
    const label = visible(axis.labels[index]!);
    const weights = active === null || active.side === side ? null : weightsTo(grids, side, active.index, index);
    const mean = weights === null ? 0 : weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    const isActive = active?.side === side && active.index === index;
    const classes = [
      "hs-token",
      `hs-${side}`,
      axis.special[index] ? "hs-special" : "",
      axis.generated[index] ? "hs-generated" : "",
      passes[index] ? "" : "hs-out",
      isActive ? "hs-active" : "",
      found[index] ? "hs-found" : "",
    ];
    rows.push(
      <button
        key={index}
        type="button"
        tabIndex={-1}
        class={classes.filter(Boolean).join(" ")}
        data-side={side}
        data-index={index}
        aria-pressed={held?.side === side && held.index === index}
        title={axis.generated[index] ? `${label} (written by the model)` : label}
        style={{
          top: `${index * ROW}px`,
          width: `${column}px`,
          background: weights === null || !passes[index] ? "" : stripes(weights, heads, signed, dark),
        }}
        onPointerEnter={() => props.setOver({ side, index })}
        onClick={() => props.pin(side, index)}
      >
        <bdi>{shortened(label, 60)}</bdi>
        {weights !== null && passes[index] && Math.abs(mean) >= props.threshold && (
          <span class="hs-number">{asNumber(mean, axes.error, signed)}</span>
        )}
      </button>,
    );
  }
  return <div class={`hs-column hs-${side}-column`}>{rows}</div>;
}

/** Each head's weight between the active token of the other side and a token of this one. */
function weightsTo(grids: readonly WeightGrid[], side: Active["side"], active: number, index: number): number[] {
  return grids.map((grid) => (side === "key" ? grid.at(active, index) : grid.at(index, active)));
}

/** One stripe a head, as strong as its weight. */
function stripes(weights: readonly number[], heads: readonly number[], signed: boolean, dark: boolean): string {
  const step = 100 / weights.length;
  const stops = weights.map((weight, at) => {
    const colour = lineColour(heads[at]!, weight, signed, dark);
    const shade = translucent(colour, Math.min(0.6, Math.abs(weight) ** 0.7 * 0.6));
    return `${shade} ${(at * step).toFixed(1)}% ${((at + 1) * step).toFixed(1)}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

export const headView: View = {
  name: "head",
  title: "Heads",
  about:
    "Lines from every token to those it looks at or takes from; a colour is a head. Point at a token for its weights, click to pin it.",
  needs: "text",
  controls: ["layer", "heads", "weigh", "filter", "level", "threshold"],
  threshold: faintest,
  scale: (_, largest) => `a line at full strength is a weight of ${reachTo(largest)}`,
  component: HeadView,
};
