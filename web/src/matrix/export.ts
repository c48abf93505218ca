/** The whole matrix as an SVG document, and its weights as rows. */
import { visible } from "../data/tokens";
import type { Axes, WeightGrid } from "../data/weights";
import { stored } from "../parts/numbers";
import { escaped } from "../parts/save";

const CELL = 14; // pixels a token, while there are few
const SIDE = 2000; // pixels of the cells together at most
const MARGIN = 110;
const LABELS = 9; // pixels a token: fewer, and labels would overlap

export function matrixSvg(image: HTMLCanvasElement, axes: Axes, title: string): string {
  const cell = Math.min(CELL, SIDE / Math.max(axes.queries.length, axes.keys.length));
  const wide = axes.keys.length * cell;
  const high = axes.queries.length * cell;
  const size = Math.min(11, cell);
  const label = (text: string, place: string, anchor: string): string =>
    `<text ${place} text-anchor="${anchor}" dominant-baseline="central">${escaped(visible(text))}</text>`;
  const labels =
    cell < LABELS
      ? []
      : [
          ...axes.queries.labels.map((text, at) =>
            label(text, `x="${MARGIN - 6}" y="${MARGIN + (at + 0.5) * cell}"`, "end"),
          ),
          ...axes.keys.labels.map((text, at) =>
            label(text, `transform="translate(${MARGIN + (at + 0.5) * cell} ${MARGIN - 6}) rotate(-90)"`, "start"),
          ),
        ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${MARGIN + wide + 8}" height="${MARGIN + high + 8}" font-family="sans-serif" font-size="${size}">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    `<image x="${MARGIN}" y="${MARGIN}" width="${wide}" height="${high}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${image.toDataURL()}"/>`,
    ...labels,
    "</svg>",
  ].join("\n");
}

/** One row a pair of tokens that the filter lets pass, for each of the heads. */
export function weightRows(
  heads: readonly string[],
  grids: readonly WeightGrid[],
  axes: Axes,
): (string | number | null)[][] {
  const rows: (string | number | null)[][] = [["head", "query", "query_token", "key", "key_token", "weight"]];
  grids.forEach((grid, which) => {
    for (let query = 0; query < grid.queries; query++) {
      if (!axes.query[query]) continue;
      for (let key = 0; key < grid.keys; key++) {
        if (!axes.key[key]) continue;
        const weight = stored(grid.at(query, key), axes.error);
        rows.push([heads[which]!, query, axes.queries.labels[query]!, key, axes.keys.labels[key]!, weight]);
      }
    }
  });
  return rows;
}
