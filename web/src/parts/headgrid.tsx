/** Layers down, heads across, one coloured cell a head: in the atlas, map and try-it views. */

import { useMemo, useRef } from "preact/hooks";
import "./headgrid.css";

/** The heads of a stack. */
export interface Grid {
  name: string;
  layers: number;
  heads: number;
  /** The numbers that layers have in the network, where these are others: not every layer of a hybrid attends. */
  module_layers?: number[];
}

/** A layer by its number, with the one that it has in the network where that is another. */
export function layerName({ module_layers }: Grid, layer: number): string {
  const number = module_layers?.[layer];
  return number === undefined ? String(layer) : `${layer} (${number})`;
}

/** The same in words, behind the name of a head; nothing where there is one number. */
export function inNetwork({ module_layers }: Grid, layer: number): string {
  const number = module_layers?.[layer];
  return number === undefined ? "" : ` (layer ${number} of the network)`;
}

/** Pixels for the numbers of layers. */
export function marginOf({ module_layers }: Grid): number {
  return module_layers?.length ? 2 * MARGIN : MARGIN;
}

export interface HeadGridProps {
  grid: Grid;
  /** One colour per head, layer-major; "" for none. */
  colours: readonly string[];
  /** Heads drawn in full; the others are pale. */
  bright: readonly boolean[];
  /** Heads with a frame, as "3.2". */
  framed: ReadonlySet<string>;
  current: number | null;
  /** Width there is, in CSS pixels. */
  room: number;
  /** Largest side of a square. */
  largest?: number;
  /** Height there is; the cells then fill it and the width, and need not be square. */
  tall?: number;
  /** What is written into each cell, layer-major, where there is room. */
  texts?: readonly string[];
  label: string;
  /** What a head is, in words. */
  describe: (index: number) => string;
  onHover?: (index: number | null) => void;
  /** A click, or the keyboard: `how` is "add" with Ctrl, Shift or the space bar. */
  onChoose: (index: number, how: "open" | "add") => void;
  /** An arrow key; without it arrows open, as clicks do. */
  onMove?: (index: number) => void;
  /** A click on the number of a layer. */
  onLayer?: (layer: number) => void;
}

const MARGIN = 26;
const HIGHEST = 76;
const NO_TEXTS: readonly string[] = [];
/** Cells smaller than this hold no text. */
const READABLE: Cell = { wide: 36, high: 22 };

/** The side of a square such that the grid fits, within reason. */
export function sideOf(grid: Grid, room: number, largest: number): number {
  const byWidth = Math.floor((room - marginOf(grid) - 2) / Math.max(1, grid.heads));
  const byHeight = Math.floor(620 / Math.max(1, grid.layers));
  return Math.max(9, Math.min(largest, byWidth, Math.max(byHeight, 14)));
}

export interface Cell {
  wide: number;
  high: number;
}

/** Cells that fill a width and a height: never higher than wide, and not much wider than high. */
export function cellOf(grid: Grid, room: number, tall: number): Cell {
  const byWidth = Math.floor((room - marginOf(grid) - 2) / Math.max(1, grid.heads));
  const byHeight = Math.floor((tall - MARGIN) / Math.max(1, grid.layers));
  const high = Math.max(14, Math.min(HIGHEST, byHeight, Math.max(9, byWidth)));
  return { wide: Math.max(9, Math.min(byWidth, Math.round(1.45 * high))), high };
}

/** The width of a grid with such cells. */
export function gridWidth(grid: Grid, cell: Cell): number {
  return marginOf(grid) + grid.heads * cell.wide + 2;
}

/** Dark or light: what can be read on a colour. */
export function inkOn(colour: string): string {
  const value = Number.parseInt(colour.slice(1), 16);
  const light = 0.299 * (value >> 16) + 0.587 * ((value >> 8) & 255) + 0.114 * (value & 255);
  return light > 140 ? "#1b1f24" : "#ffffff";
}

/** Where an arrow key leads from a head; null for keys that lead nowhere. */
export function moved(index: number | null, key: string, grid: Grid): number | null {
  const steps: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const step = steps[key];
  if (step === undefined) return null;
  if (index === null) return 0;
  const layer = Math.max(0, Math.min(grid.layers - 1, Math.floor(index / grid.heads) + step[0]));
  const head = Math.max(0, Math.min(grid.heads - 1, (index % grid.heads) + step[1]));
  return layer * grid.heads + head;
}

export function HeadGrid(props: HeadGridProps) {
  const { grid, colours, bright, framed, current, room, label, describe, onHover, onChoose, onLayer } = props;
  const svg = useRef<SVGSVGElement>(null);
  const margin = marginOf(grid);
  const side = props.tall === undefined ? sideOf(grid, room, props.largest ?? 40) : 0;
  const { wide, high } = props.tall === undefined ? { wide: side, high: side } : cellOf(grid, room, props.tall);
  const gap = Math.min(wide, high) >= 16 ? 2 : 1;
  const texts = wide >= READABLE.wide && high >= READABLE.high ? (props.texts ?? NO_TEXTS) : NO_TEXTS;
  const left = (index: number): number => margin + (index % grid.heads) * wide;
  const top = (index: number): number => MARGIN - 8 + Math.floor(index / grid.heads) * high;
  const indexAt = (event: MouseEvent): number | null => {
    const frame = svg.current?.getBoundingClientRect();
    const head = Math.floor((event.clientX - (frame?.left ?? 0) - margin) / wide);
    const layer = Math.floor((event.clientY - (frame?.top ?? 0) - MARGIN + 8) / high);
    return head >= 0 && head < grid.heads && layer >= 0 && layer < grid.layers ? layer * grid.heads + head : null;
  };
  const onKey = (event: KeyboardEvent) => {
    const next = moved(current, event.key, grid);
    if (next !== null) (props.onMove ?? ((index: number) => onChoose(index, "open")))(next);
    else if (current !== null && (event.key === " " || event.key === "Enter")) onChoose(current, "add");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // One node, which is passed over as a whole while nothing of it changes: there may be thousands of cells.
  const cells = useMemo(
    () => (
      <>
        {Array.from({ length: grid.layers * grid.heads }, (_, index) => {
          // Small, whatever the colour: paleness alone would read as a value.
          const inset = bright[index] ? 0 : Math.round(0.34 * Math.min(wide, high));
          const text = bright[index] ? texts[index] : "";
          return (
            <g key={index}>
              <rect
                data-head={`${Math.floor(index / grid.heads)}.${index % grid.heads}`}
                data-kept={bright[index] ?? false}
                class={`hg-cell${colours[index] ? "" : " hg-none"}${bright[index] ? "" : " hg-pale"}`}
                x={left(index) + inset}
                y={top(index) + inset}
                width={wide - gap - 2 * inset}
                height={high - gap - 2 * inset}
                rx={2}
                fill={colours[index] || undefined}
              />
              {text && (
                <text
                  class="hg-text"
                  x={left(index) + (wide - gap) / 2}
                  y={top(index) + (high - gap) / 2 + 4}
                  text-anchor="middle"
                  fill={inkOn(colours[index] ?? "")}
                >
                  {text}
                </text>
              )}
            </g>
          );
        })}
      </>
    ),
    [grid.layers, grid.heads, colours, bright, wide, high, texts],
  );
  const ring = (index: number, className: string) => (
    <rect
      key={`${className}${index}`}
      class={className}
      x={left(index) - 1}
      y={top(index) - 1}
      width={wide - gap + 2}
      height={high - gap + 2}
      rx={3}
      pointer-events="none"
    />
  );
  const named = [...framed]
    .map((name) => name.split(".").map(Number) as [number, number])
    .filter(([layer, head]) => layer < grid.layers && head < grid.heads);
  return (
    <svg
      ref={svg}
      class="hg"
      width={gridWidth(grid, { wide, high })}
      height={MARGIN - 8 + grid.layers * high + 2}
      tabindex={0}
      role="group"
      aria-label={`${label}: ${grid.layers} layers of ${grid.heads} heads. Arrow keys move, the space bar selects.${current === null ? "" : ` ${describe(current)}`}`}
      onKeyDown={onKey}
      onPointerMove={(event) => onHover?.(indexAt(event))}
      onPointerLeave={() => onHover?.(null)}
      onClick={(event) => {
        const index = indexAt(event);
        if (index !== null) onChoose(index, event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "open");
      }}
    >
      <GridNumbers {...{ grid, wide, high, gap, onLayer }} />
      {cells}
      {named.map(([layer, head]) => ring(layer * grid.heads + head, "hg-framed"))}
      {current !== null && current < grid.layers * grid.heads && ring(current, "hg-current")}
    </svg>
  );
}

interface NumbersProps extends Cell {
  grid: Grid;
  gap: number;
  onLayer: ((layer: number) => void) | undefined;
}

/** The numbers of heads above and of layers at the left; not all of them where they would not fit. */
function GridNumbers({ grid, wide, high, gap, onLayer }: NumbersProps) {
  const numbers = (count: number, side: number) => {
    const every = side >= 14 ? 1 : Math.ceil(16 / side);
    return Array.from({ length: Math.ceil(count / every) }, (_, index) => index * every);
  };
  const margin = marginOf(grid);
  return (
    <>
      {numbers(grid.heads, wide).map((head) => (
        <text
          key={`h${head}`}
          class="hg-number"
          x={margin + (head + 0.5) * wide - gap / 2}
          y={MARGIN - 13}
          text-anchor="middle"
        >
          {head}
        </text>
      ))}
      {numbers(grid.layers, high).map((layer) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; keys reach every head
        <text
          key={`l${layer}`}
          class={`hg-number${onLayer ? " hg-layer" : ""}`}
          x={margin - 6}
          y={MARGIN - 8 + (layer + 0.5) * high + 3}
          text-anchor="end"
          onClick={onLayer ? () => onLayer(layer) : undefined}
        >
          {onLayer && <title>{`all of layer ${layer}${inNetwork(grid, layer)}`}</title>}
          {layerName(grid, layer)}
        </text>
      ))}
    </>
  );
}
