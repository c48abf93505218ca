/** The picture of a matrix with its labels. */

import { type Axis, matches, visible } from "../data/tokens";
import type { Axes } from "../data/weights";
import { fitted, prepare } from "../parts/canvas";
import type { Size } from "../parts/hooks";
import type { Place, Room } from "./place";

export interface Drawing {
  size: Size;
  room: Room;
  place: Place;
  margin: { left: number; top: number };
  image: HTMLCanvasElement;
  axes: Axes;
  over: { query: number; key: number } | null;
  held: { side: "query" | "key"; index: number } | null;
  searched: string;
  dark: boolean;
}

const LABEL = 12; // pixels a line of text
const APART = 18; // pixels between labels where not every token has one

interface Inks {
  ink: string;
  muted: string;
  rule: string;
  accent: string;
  found: string;
  panel: string;
}

/** The page's own colours. */
function inksOf(element: HTMLElement): Inks {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"),
    muted: of("muted"),
    rule: of("rule"),
    accent: of("accent"),
    found: of("found"),
    panel: of("panel"),
  };
}

export function drawMatrix(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const { size, room, place, margin, image, axes, over, held } = drawing;
  const context = prepare(canvas, size.width, size.height);
  const inks = inksOf(canvas);
  const width = Math.min(room.width, place.x + room.keys * place.cell);
  const height = Math.min(room.height, place.y + room.queries * place.cell);

  context.save();
  context.translate(margin.left, margin.top);
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  context.fillStyle = inks.panel;
  context.fillRect(0, 0, width, height);
  context.imageSmoothingEnabled = place.cell * (window.devicePixelRatio || 1) < 1;
  context.imageSmoothingQuality = "high";
  context.drawImage(image, place.x, place.y, room.keys * place.cell, room.queries * place.cell);
  if (held !== null) {
    const count = held.side === "query" ? room.queries : room.keys;
    if (held.index < count) band(context, held, place, width, height, inks.accent);
  }
  if (over !== null) {
    context.strokeStyle = inks.ink;
    context.lineWidth = 1;
    const cell = Math.max(3, place.cell);
    context.strokeRect(place.x + over.key * place.cell, place.y + over.query * place.cell, cell, cell);
  }
  context.restore();
  context.strokeStyle = inks.rule;
  context.lineWidth = 1;
  context.strokeRect(margin.left - 0.5, margin.top - 0.5, width + 1, height + 1);

  const marked = (side: "query" | "key"): Marks => ({
    over: over === null ? -1 : over[side],
    held: held?.side === side ? held.index : -1,
    found: matches(side === "query" ? axes.queries : axes.keys, drawing.searched),
    passes: axes[side],
  });
  context.font = `${LABEL - 1}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.save();
  context.translate(margin.left - 6, margin.top);
  labels(context, axes.queries, marked("query"), place.y, place.cell, height, margin.left - 12, "right", inks);
  context.restore();
  context.save();
  context.translate(margin.left, margin.top - 6);
  context.rotate(-Math.PI / 2);
  // Turned by a quarter: x runs up, y runs to the right.
  labels(context, axes.keys, marked("key"), place.x, place.cell, width, margin.top - 12, "left", inks);
  context.restore();
}

function band(
  context: CanvasRenderingContext2D,
  held: { side: "query" | "key"; index: number },
  place: Place,
  width: number,
  height: number,
  colour: string,
): void {
  const thick = Math.max(2, place.cell);
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  if (held.side === "query") context.strokeRect(0.5, place.y + held.index * place.cell, width - 1, thick);
  else context.strokeRect(place.x + held.index * place.cell, 0.5, thick, height - 1);
}

interface Marks {
  over: number;
  held: number;
  found: boolean[];
  passes: boolean[];
}

/** Which tokens get a label: those that are marked, special ones and those searched for, then as many as there is room for. */
export function labelled(
  places: { first: number; last: number; start: number; cell: number },
  marks: readonly number[],
  preferred: (index: number) => boolean,
): number[] {
  const { first, last, start, cell } = places;
  const apart = cell >= LABEL ? LABEL : APART;
  const every = Math.max(1, Math.ceil(apart / cell));
  const all = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  const wanted = [
    ...marks.filter((index) => index >= first && index < last),
    ...all.filter(preferred),
    ...all.filter((index) => index % every === 0),
  ];
  const taken: number[] = [];
  const chosen = new Set<number>();
  for (const index of wanted) {
    const y = start + (index + 0.5) * cell;
    if (chosen.has(index) || taken.some((other) => Math.abs(other - y) < apart - 0.01)) continue;
    chosen.add(index);
    taken.push(y);
  }
  return [...chosen].sort((one, other) => one - other);
}

/** Labels along y, as many as there is room for; where that is not all of them, each has a tick at its row. */
function labels(
  context: CanvasRenderingContext2D,
  axis: Axis,
  marks: Marks,
  start: number,
  cell: number,
  length: number,
  room: number,
  align: "left" | "right",
  inks: Inks,
): void {
  const first = Math.max(0, Math.floor(-start / cell));
  const last = Math.min(axis.length, Math.ceil((length - start) / cell));
  const always = new Set([marks.over, marks.held]);
  const chosen = labelled(
    { first, last, start, cell },
    [...always],
    (index) => axis.special[index]! || marks.found[index]!,
  );
  const out = align === "right" ? 1 : -1;
  context.textAlign = align;
  for (const index of chosen) {
    const y = start + (index + 0.5) * cell;
    if (y < -2 || y > length + 2) continue;
    if (chosen.length < last - first) {
      context.fillStyle = inks.muted;
      context.fillRect(out * 2, y - 0.5, out * 4, 1);
    }
    const text = fitted(context, visible(axis.labels[index]!), room);
    if (marks.found[index]) {
      const wide = context.measureText(text).width + 4;
      context.fillStyle = inks.found;
      context.fillRect(align === "right" ? 2 - wide : -2, y - LABEL / 2, wide, LABEL);
    }
    context.globalAlpha = marks.passes[index] ? 1 : 0.4;
    context.fillStyle = always.has(index) ? inks.accent : axis.special[index] ? inks.muted : inks.ink;
    context.fillText(text, 0, y);
    if (axis.generated[index]) {
      const wide = context.measureText(text).width;
      context.fillStyle = inks.accent;
      context.fillRect(align === "right" ? -wide : 0, y + LABEL / 2 - 2, wide, 1.5);
    }
    context.globalAlpha = 1;
  }
}
