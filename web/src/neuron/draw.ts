/** The picture of the neuron view: one row a key, on a canvas as large as what is in sight. */

import { fitted, prepare } from "../parts/canvas";
import { pixel, rampOf } from "../parts/colour";
import { asNumber } from "../parts/numbers";
import { HEADER, type Layout, ROW } from "./layout";
import { visibleKeys } from "./score";
import type { TableProps } from "./table";

/** Values as colours, one pixel each: orange below 0, blue above, full at `full`. */
export function signedPixels(
  rows: readonly ArrayLike<number>[],
  width: number,
  full: number,
  dark: boolean,
): Uint32Array {
  const steps = rampOf("signed", dark).map(pixel);
  const pixels = new Uint32Array(Math.max(1, rows.length * width));
  rows.forEach((row, down) => {
    for (let across = 0; across < width; across++) {
      const share = (Math.max(-1, Math.min(1, (row[across] ?? 0) / full)) + 1) / 2;
      pixels[down * width + across] = steps[Math.round(share * (steps.length - 1))] ?? 0;
    }
  });
  return pixels;
}

export interface Pictures {
  queries: HTMLCanvasElement;
  keys: HTMLCanvasElement;
  products: HTMLCanvasElement;
}

export interface Drawn extends TableProps {
  layout: Layout;
  pictures: Pictures;
  scroll: number;
  high: number;
}

export interface Inks {
  ink: string;
  muted: string;
  paper: string;
  accent: string;
  rule: string;
  hover: string;
}

export function inksOf(canvas: HTMLCanvasElement): Inks {
  const style = getComputedStyle(canvas);
  const named = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  return {
    ink: named("--ink", "#22262b"),
    muted: named("--muted", "#6a7079"),
    paper: named("--paper", "#ffffff"),
    accent: named("--accent", "#2f6db5"),
    rule: named("--rule", "#d6dade"),
    hover: named("--accent-soft", "#eef3f9"),
  };
}

const FONT = "12px system-ui, sans-serif";
const SMALL = "10.5px system-ui, sans-serif";

export function draw(canvas: HTMLCanvasElement, given: Drawn, inks: Inks): void {
  const { layout, high, scroll, labels, key_ } = given;
  const context = prepare(canvas, layout.width, high);
  context.imageSmoothingEnabled = false;
  context.textBaseline = "middle";
  const first = Math.max(0, Math.floor(scroll / ROW));
  const end = Math.min(labels.length, Math.ceil((scroll + high - HEADER) / ROW));
  context.save();
  context.beginPath();
  context.rect(0, HEADER, layout.width, high - HEADER);
  context.clip();
  if (key_ !== null) {
    context.fillStyle = inks.hover;
    context.fillRect(0, HEADER + key_ * ROW - scroll, layout.width, ROW);
  }
  drawStrips(context, given, first, end, inks);
  for (let key = first; key < end; key++) drawRow(context, given, key, inks);
  context.restore();
  drawHeader(context, given, inks);
  drawTop(context, given, inks);
}

function drawStrips(
  context: CanvasRenderingContext2D,
  { layout, pictures, scroll, neurons, query, key_ }: Drawn,
  first: number,
  end: number,
  inks: Inks,
): void {
  const y = HEADER + first * ROW - scroll;
  const width = pictures.keys.width;
  const [from, to] = visibleKeys(neurons, query);
  for (const [strip, image] of [
    [layout.key, pictures.keys],
    [layout.product, pictures.products],
  ] as const) {
    if (strip === null || end <= first) continue;
    context.drawImage(image, 0, first, width, end - first, strip.x, y, strip.width, (end - first) * ROW);
    for (let key = first; key < end; key++) {
      const top = HEADER + key * ROW - scroll;
      context.fillStyle = key === key_ ? inks.hover : inks.paper;
      context.fillRect(strip.x - 1, top, strip.width + 2, 2);
      context.fillRect(strip.x - 1, top + ROW - 2, strip.width + 2, 2);
      if (key >= from && key < to) continue;
      context.globalAlpha = 0.85;
      context.fillStyle = inks.paper;
      context.fillRect(strip.x, top, strip.width, ROW);
      context.globalAlpha = 1;
    }
  }
}

function drawRow(context: CanvasRenderingContext2D, given: Drawn, key: number, inks: Inks): void {
  const { layout, scroll, labels, scores, mapped, neurons, query, found, pinned, key_ } = given;
  const middle = HEADER + key * ROW - scroll + ROW / 2;
  const [from, to] = visibleKeys(neurons, query);
  const hidden = key < from || key >= to;
  context.font = found[key] || (pinned && key === key_) ? `bold ${FONT}` : FONT;
  context.fillStyle = hidden ? inks.muted : found[key] ? inks.accent : inks.ink;
  context.textAlign = "right";
  context.fillText(
    fitted(context, labels[key] ?? "", layout.token.width - 8),
    layout.token.x + layout.token.width,
    middle,
  );
  context.font = FONT;
  context.fillStyle = hidden ? inks.muted : inks.ink;
  const weight = scores.weights[key] ?? 0;
  const values = { dot: scores.dots[key], bias: neurons.bias?.[query]?.[key] ?? 0, score: scores.scores[key] };
  for (const column of layout.numbers) {
    const text = hidden
      ? column.name === "dot"
        ? "hidden"
        : ""
      : (values[column.name] ?? 0).toFixed(2).replace("-", "−");
    context.fillText(text, column.x + column.width - 6, middle);
  }
  if (!hidden) {
    const { x, bar, width } = layout.weight;
    context.fillStyle = inks.accent;
    const long = Math.max(weight > 0.0005 ? 1 : 0, weight * (bar || width - 4));
    if (bar > 0) context.fillRect(x, middle - 6, long, 12);
    else context.fillRect(x, middle + 6, long, 2);
    context.fillStyle = inks.ink;
    context.fillText(weight.toFixed(3), layout.weight.x + layout.weight.width - 4, middle);
  }
  if (layout.mapped && mapped) {
    const other = mapped[key] ?? 0;
    context.fillStyle = Math.abs(other - (hidden ? 0 : weight)) > 0.005 ? inks.ink : inks.muted;
    context.fillText(asNumber(other, given.error), layout.mapped.x + layout.mapped.width - 4, middle);
  }
}

function drawHeader(context: CanvasRenderingContext2D, { layout, pictures, queryLabel }: Drawn, inks: Inks): void {
  const strip = layout.key ?? layout.product!;
  context.fillStyle = inks.ink;
  context.font = `bold ${FONT}`;
  context.textAlign = "right";
  context.fillText(fitted(context, queryLabel, layout.token.width - 22), layout.token.x + layout.token.width, 40);
  context.font = SMALL;
  context.fillStyle = inks.muted;
  context.textAlign = "left";
  context.fillText("q", 0, 40);
  context.drawImage(pictures.queries, 0, 0, pictures.queries.width, 1, strip.x, 33, strip.width, 14);
  const title = (text: string, x: number, align: CanvasTextAlign = "left") => {
    context.textAlign = align;
    context.fillText(text, x, HEADER - 7);
  };
  title("key", layout.token.x + layout.token.width, "right");
  if (layout.key) title("k", layout.key.x);
  if (layout.product) title("q × k", layout.product.x);
  const names = { dot: "scaled", bias: "bias", score: "score" };
  for (const column of layout.numbers) {
    const right = column.x + column.width - 6;
    title(names[column.name], right, "right");
    if (column.name === "dot") context.fillText("q · k", right, HEADER - 20);
  }
  title("softmax", layout.weight.x + layout.weight.width - 4, "right");
  if (layout.mapped) title("map", layout.mapped.x + layout.mapped.width - 4, "right");
  context.fillStyle = inks.rule;
  context.fillRect(0, HEADER - 1, layout.width, 1);
}

/** The neurons that carry the score, framed from the query down through every row, with their rank. */
function drawTop(context: CanvasRenderingContext2D, { layout, top, neuron, high }: Drawn, inks: Inks): void {
  const strips = [layout.key, layout.product].filter((strip) => strip !== null);
  const framed =
    neuron === null || top.some((one) => one.neuron === neuron) ? top : [...top, { neuron, part: 0, share: 0 }];
  context.font = SMALL;
  context.textAlign = "center";
  let last = new Map<number, number>();
  [...framed]
    .map((one, rank) => ({ ...one, rank }))
    .sort((a, b) => a.neuron - b.neuron)
    .forEach((one) => {
      strips.forEach((strip, index) => {
        const x = strip.x + one.neuron * layout.cell;
        const chosen = one.neuron === neuron;
        context.strokeStyle = chosen ? inks.accent : inks.ink;
        context.lineWidth = chosen ? 2 : 1;
        context.globalAlpha = neuron !== null && !chosen ? 0.35 : 0.85;
        const wide = Math.max(2, layout.cell) + 1;
        // Not through the line between, where the names of the columns stand.
        if (index === 0) context.strokeRect(x - 0.5, 31, wide, 18);
        context.strokeRect(x - 0.5, HEADER - 1, wide, high - HEADER + 3);
        if (index === 0 && one.rank < 5) {
          const middle = x + layout.cell / 2;
          const level = middle - (last.get(0) ?? -99) < 11 ? 1 : 0; // neighbours write on two lines
          last = new Map([
            [level, middle],
            [1 - level, last.get(1 - level) ?? -99],
          ]);
          context.fillStyle = chosen ? inks.accent : inks.ink;
          context.fillText(`${one.rank + 1}`, middle, level === 0 ? 23 : 12);
        }
        context.globalAlpha = 1;
      });
    });
}
