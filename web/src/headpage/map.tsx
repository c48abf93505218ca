/** The head's attention on one text of the corpus, as a small picture. */

import { useEffect, useRef } from "preact/hooks";
import type { ExampleMap } from "../data/api";
import { prepare } from "../parts/canvas";
import { placed, rampColour } from "../parts/colour";
import type { State } from "../shell/state";

const WIDE = 180;

export function ExamplePicture({ map, dark, scale }: { map: ExampleMap; dark: boolean; scale: State["scale"] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = map.cells.length;
  const columns = map.cells[0]?.length ?? 0;
  const tall = columns > 0 ? Math.round(Math.min(320, (WIDE * rows) / columns)) : 0;
  useEffect(() => {
    if (canvas.current === null || columns === 0) return;
    const context = prepare(canvas.current, WIDE, tall);
    map.cells.forEach((row, down) => {
      row.forEach((weight, across) => {
        if (weight === null) return;
        context.fillStyle = rampColour("share", dark, placed(weight, scale));
        const [left, top] = [Math.floor((across * WIDE) / columns), Math.floor((down * tall) / rows)];
        context.fillRect(
          left,
          top,
          Math.floor(((across + 1) * WIDE) / columns) - left,
          Math.floor(((down + 1) * tall) / rows) - top,
        );
      });
    });
  }, [map, dark, scale]);
  const size = map.queries === null || map.keys === null ? "" : `, ${map.queries} x ${map.keys} tokens`;
  return columns === 0 ? null : (
    <canvas ref={canvas} class="hp-map" role="img" aria-label={`Attention on one text${size}`} />
  );
}
