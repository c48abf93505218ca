/** The map view: heads that do alike lie near each other; brushing selects them here and in the atlas view. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { nameOf } from "../atlas/data";
import { ATLAS_KEYS, AtlasFrame, type Plot, type PlotProps } from "../atlas/frame";
import { Picker } from "../atlas/picker";
import { ATLAS_SETTINGS, selected } from "../atlas/settings";
import type { Colouring } from "../data/api";
import { Field, Switch } from "../parts/controls";
import { HeadGrid } from "../parts/headgrid";
import type { Size } from "../parts/hooks";
import { AS_IS, setting } from "../shell/setting";
import type { View, ViewProps } from "../shell/view";
import { along, axisOf, type Box, inBox, type Point, placedIn, ticksOf } from "./place";
import "./map.css";

/** Which of the maps is shown; the first where it is none of them. */
const map = setting("x-map", AS_IS);

const MOST_LABELS = 24;
const SMALLEST_BRUSH = 4; // pixels: less is a click

/** As large as the room allows, with the choice of a map above it. */
function sideIn({ width, height }: Size): number {
  return Math.floor(Math.max(260, Math.min(width, 900, Math.max(340, height - 34))));
}

/** The two numbers of a head that its place stands for; keys of colourings. */
const across = setting("x-across", AS_IS, { scope: "atlas" });
const up = setting("x-up", AS_IS, { scope: "atlas" });
const MEASURES = {
  key: "measures",
  title: "two measures",
  about: "Every head by two of its numbers, coloured by a third.",
  points: null,
};

function Picture(given: PlotProps) {
  const { look, state, setState, size, describe, choose, setHovered } = given;
  const { maps, colourings, first_measures } = look.stack;
  const numbers = colourings.filter(({ kind }) => kind === "number");
  const offered = first_measures ? [...maps, MEASURES] : maps;
  const chosen = offered.find(({ key }) => key === map.of(state)) ?? offered[0];
  const side = sideIn(size);
  const places = useMemo(() => placedIn(chosen?.points ?? [], side), [chosen, side]);
  if (chosen === undefined)
    return (
      <p class="hs-trouble">This stack has no map: its heads are too few, or their distances were not measured.</p>
    );
  return (
    <>
      {offered.length > 1 && (
        <Switch
          label="Kind of map"
          value={chosen.key}
          options={offered.map(({ key, title, about }) => [key, title, about] as const)}
          onChange={(each) => setState({ settings: map.to(each) })}
        />
      )}
      {chosen.points === null ? (
        <TwoMeasures {...given} numbers={numbers} side={side} />
      ) : (
        <Scatter {...given} {...{ places, side }} title={`${chosen.title} map`} />
      )}
      <p class="at-about">{chosen.about} Drag a rectangle to select heads.</p>
      <HeadGrid
        grid={look.stack}
        colours={look.colours}
        bright={look.bright}
        framed={look.selected}
        current={look.current}
        room={Math.min(size.width, 360)}
        largest={20}
        label="The same heads by layer"
        describe={describe}
        onHover={setHovered}
        onChoose={choose}
      />
    </>
  );
}

/** One measure across, another one up; the colour is a third. */
function TwoMeasures({ numbers, side, ...given }: PlotProps & { numbers: readonly Colouring[]; side: number }) {
  const { look, state, setState } = given;
  const named = (key: string | undefined): Colouring | undefined => numbers.find((each) => each.key === key);
  const [first, second] = look.stack.first_measures ?? [];
  const x = named(across.of(state)) ?? named(first) ?? numbers[0]!;
  const y = named(up.of(state)) ?? named(second) ?? numbers[0]!;
  const { axes, places, missing } = useMemo(() => placedBy(x.values, y.values, side), [x, y, side]);
  return (
    <>
      <Field label="Across">
        <Picker colourings={numbers} chosen={x} onChoose={(key) => setState({ settings: across.to(key) })} />
      </Field>
      <Field label="Up">
        <Picker colourings={numbers} chosen={y} onChoose={(key) => setState({ settings: up.to(key) })} />
      </Field>
      <Scatter {...given} {...{ places, side }} title={`${y.title} against ${x.title}`}>
        {ticksOf(axes.x).map((tick) => (
          <g key={`x${tick}`} transform={`translate(${along(axes.x, tick)} ${axes.y.from})`}>
            <line class="mp-tick" y2={axes.y.to - axes.y.from} />
            <text class="mp-number" y="16" text-anchor="middle">
              {String(tick).replace("-", "−")}
            </text>
          </g>
        ))}
        {ticksOf(axes.y).map((tick) => (
          <g key={`y${tick}`} transform={`translate(${axes.x.from} ${along(axes.y, tick)})`}>
            <line class="mp-tick" x2={axes.x.to - axes.x.from} />
            <text class="mp-number" x="-6" y="4" text-anchor="end">
              {String(tick).replace("-", "−")}
            </text>
          </g>
        ))}
        <text class="mp-number" x={side / 2} y={side - 8} text-anchor="middle">
          {titled(x)}
        </text>
        <text class="mp-number" transform={`translate(12 ${side / 2}) rotate(-90)`} text-anchor="middle">
          {titled(y)}
        </text>
      </Scatter>
      {missing > 0 && <p class="at-about">{missing} heads have no value for one of the two and are not drawn.</p>}
    </>
  );
}

function placedBy(across: Colouring["values"], up: Colouring["values"], side: number) {
  const axes = { x: axisOf(across, side, false), y: axisOf(up, side, true) };
  const places = across.map((value, index): Point => [along(axes.x, value), along(axes.y, up[index] ?? null)]);
  return { axes, places, missing: places.filter((place) => !place.every(Number.isFinite)).length };
}

function titled({ title, unit }: Colouring): string {
  return unit === "" || unit === "1" ? title : `${title} (${unit})`;
}

function Scatter({
  look,
  letGo,
  setState,
  hovered,
  setHovered,
  choose,
  describe,
  places,
  side,
  title,
  children,
}: PlotProps & { places: readonly Point[]; side: number; title: string; children?: ComponentChildren }) {
  const [box, setBox] = useState<Box | null>(null);
  const start = useRef<Point | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const at = (event: PointerEvent): Point => {
    const frame = svg.current?.getBoundingClientRect();
    return frame ? [event.clientX - frame.left, event.clientY - frame.top] : [0, 0];
  };
  const drop = () => {
    start.current = null;
    letGo.current = null;
    setBox(null);
  };
  const finish = (event: PointerEvent) => {
    const begun = start.current;
    drop();
    if (begun === null) return;
    const end = at(event);
    if (Math.hypot(end[0] - begun[0], end[1] - begun[1]) < SMALLEST_BRUSH) {
      const index = nearest(places, end);
      if (index === null) setState({ settings: selected.to([]) });
      else choose(index, event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "open");
      return;
    }
    const caught = inBox(places, { from: begun, to: end }).map((index) => nameOf(look.stack, index));
    const kept = event.shiftKey ? [...look.selected] : [];
    setState({ settings: selected.to([...new Set([...kept, ...caught])]) });
  };
  return (
    <svg
      ref={svg}
      class="mp"
      width={side}
      height={side}
      role="group"
      aria-label={`${title}: ${places.length} heads${look.current === null ? "" : `; ${describe(look.current)}`}`}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        start.current = at(event);
        letGo.current = drop;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const here = at(event);
        if (start.current) setBox({ from: start.current, to: here });
        else setHovered(nearest(places, here));
      }}
      onPointerUp={finish}
      onPointerCancel={drop}
      onPointerLeave={() => start.current === null && setHovered(null)}
    >
      <rect class="mp-ground" x="0.5" y="0.5" width={side - 1} height={side - 1} />
      {children}
      <Points {...{ look, hovered, places }} />
      <Labels {...{ look, hovered, places, side }} />
      {box && (
        <rect
          class="mp-brush"
          x={Math.min(box.from[0], box.to[0])}
          y={Math.min(box.from[1], box.to[1])}
          width={Math.abs(box.to[0] - box.from[0])}
          height={Math.abs(box.to[1] - box.from[1])}
        />
      )}
    </svg>
  );
}

type PlacedProps = Pick<PlotProps, "look" | "hovered"> & { places: readonly Point[] };

/** Those that the filter keeps lie on top, and above all the one that is pointed at: the others stay as they are. */
function Points({ look, hovered, places }: PlacedProps) {
  const radius = places.length > 2000 ? 2 : places.length > 300 ? 4 : 6;
  const pale = Math.min(radius, 2.5);
  const isPlaced = (index: number): boolean => places[index]?.every(Number.isFinite) ?? false;
  const circle = (index: number, className: string, r: number) => (
    <circle
      key={index}
      data-head={nameOf(look.stack, index)}
      class={`${className}${look.colours[index] ? "" : " hg-none"}${look.selected.has(nameOf(look.stack, index)) ? " mp-selected" : ""}`}
      cx={places[index]?.[0]}
      cy={places[index]?.[1]}
      r={r}
      fill={look.colours[index] || undefined}
    />
  );
  const drawn = useMemo(() => {
    const order = places.map((_, index) => index).filter(isPlaced);
    order.sort((a, b) => Number(look.bright[a]) - Number(look.bright[b]));
    // One node, which is passed over as a whole while the pointer moves.
    return (
      <>
        {order.map((index) => {
          const bright = look.bright[index] ? "mp-point" : "mp-point hg-pale";
          return index === look.current
            ? circle(index, `${bright} mp-current`, radius + 2)
            : circle(index, bright, look.bright[index] ? radius : pale);
        })}
      </>
    );
  }, [places, look]);
  return (
    <>
      {drawn}
      {hovered !== null && hovered !== look.current && isPlaced(hovered) && circle(hovered, "mp-hovered", radius + 2)}
    </>
  );
}

/** The names of the heads that are pointed at, open or selected, unless these are too many to read. */
function Labels({ look, hovered, places, side }: PlacedProps & { side: number }) {
  const named = new Set([hovered, look.current]);
  if (look.selected.size > 0 && look.selected.size <= MOST_LABELS)
    for (const index of places.keys()) if (look.selected.has(nameOf(look.stack, index))) named.add(index);
  return (
    <>
      {[...named].map((index) => {
        const [x, y] = places[index ?? -1] ?? [Number.NaN, 0];
        if (index === null || !Number.isFinite(x + y)) return null;
        const anchor = x < 20 ? "start" : x > side - 20 ? "end" : "middle";
        return (
          <text key={index} class="mp-label" x={x} y={y < 20 ? y + 20 : y - 10} text-anchor={anchor}>
            {nameOf(look.stack, index)}
          </text>
        );
      })}
    </>
  );
}

/** The point nearest to a place, if it is near enough to be meant. */
function nearest(places: readonly Point[], [x, y]: Point): number | null {
  let [best, found]: [number, number | null] = [14, null];
  places.forEach(([left, top], index) => {
    const distance = Math.hypot(left - x, top - y);
    if (distance < best) [best, found] = [distance, index];
  });
  return found;
}

const MAP: Plot = {
  needsMaps: true,
  picture: (given) => <Picture {...given} />,
  width: (_, room) => sideIn(room),
};

function MapView(props: ViewProps) {
  return <AtlasFrame props={props} plot={MAP} />;
}

export const mapView: View = {
  name: "map",
  title: "Map",
  about: "Heads as points: similar heads close together, or any measure against another; drag a rectangle to select.",
  needs: "atlas",
  controls: [],
  settings: [...ATLAS_SETTINGS, map, across, up],
  keys: ATLAS_KEYS,
  component: MapView,
};
