/** The lines of the head view as an SVG document. */
import { visible } from "../data/tokens";
import type { Axes, WeightGrid } from "../data/weights";
import { escaped } from "../parts/save";
import { lineColour, linesOf, opacity, reachOf } from "./lines";

const ROW = 18;
const COLUMN = 130;
const BETWEEN = 260;
const MOST = 5000;

export function linesSvg(
  axes: Axes,
  heads: readonly number[],
  grids: readonly WeightGrid[],
  threshold: number,
  title: string,
): string {
  const total = Math.max(axes.queries.length, axes.keys.length);
  const wanted = { threshold, query: axes.query, key: axes.key, rows: { from: 0, to: total }, only: null, limit: MOST };
  const lines = linesOf([...grids], wanted);
  const reach = reachOf(lines);
  const middle = (index: number): number => (index + 0.5) * ROW + 6;
  const drawn = Array.from({ length: lines.count }, (_, at) => {
    const weight = lines.weight[at]!;
    const colour = lineColour(heads[lines.head[at]!]!, weight, grids[0]!.signed, false);
    return `<line x1="${COLUMN}" y1="${middle(lines.query[at]!)}" x2="${COLUMN + BETWEEN}" y2="${middle(lines.key[at]!)}" stroke="${colour}" stroke-width="${(0.7 + 2.3 * Math.min(1, Math.abs(weight))).toFixed(2)}" stroke-opacity="${opacity(weight, reach, heads.length).toFixed(3)}"/>`;
  });
  const column = (labels: readonly string[], x: number, anchor: string): string[] =>
    labels.map(
      (text, at) =>
        `<text x="${x}" y="${middle(at)}" text-anchor="${anchor}" dominant-baseline="central">${escaped(visible(text))}</text>`,
    );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * COLUMN + BETWEEN}" height="${total * ROW + 12}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    ...drawn,
    ...column(axes.queries.labels, COLUMN - 8, "end"),
    ...column(axes.keys.labels, COLUMN + BETWEEN + 8, "start"),
    "</svg>",
  ].join("\n");
}
