/** Beside the small maps: the one that is pointed at, large enough to be read. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Seen, StackShape } from "../data/api";
import { cardOf, type Source } from "../data/source";
import { type Axes, gridOf } from "../data/weights";
import { CardLine, Trouble } from "../parts/controls";
import { useLayerMaps, useSize } from "../parts/hooks";
import type { SetState, State } from "../shell/state";
import { drawMatrix } from "./draw";
import { matrixPicture } from "./pixels";
import { whole } from "./place";

const MARGIN = { left: 100, top: 84 };
const HALF = 8; // a label of the last row or column, beyond its middle
const VIEWS = [
  { name: "matrix", title: "Matrix" },
  { name: "head", title: "Lines" },
  { name: "neuron", title: "Neurons" },
];

interface Props {
  source: Source;
  seen: Seen;
  stack: StackShape;
  axes: Axes;
  threshold: number;
  layer: number;
  head: number;
  state: State;
  setState: SetState;
  dark: boolean;
}

export function ModelPreview({ source, seen, stack, axes, threshold, layer, head, state, setState, dark }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const { value: maps, error } = useLayerMaps(source, seen, stack.name, layer);
  const image = useMemo(() => {
    if (maps === null || maps.layer !== layer) return null;
    const grid = gridOf(maps, head, seen.levels, axes);
    return matrixPicture(grid, axes, { threshold, scale: state.scale, dark });
  }, [maps, layer, head, axes, threshold, state.scale, dark]);
  useLayoutEffect(() => {
    if (canvas.current === null || image === null || size.height === 0) return;
    const room = {
      width: Math.max(1, size.width - MARGIN.left - HALF),
      height: Math.max(1, size.height - MARGIN.top - HALF),
      queries: axes.queries.length,
      keys: axes.keys.length,
    };
    const place = whole(room);
    const shown = { size, room, place, image, axes, dark, over: null, held: null, searched: state.q };
    drawMatrix(canvas.current, { ...shown, margin: MARGIN });
  });
  const views = VIEWS.filter(({ name }) => name !== "neuron" || source.neurons !== undefined);
  return (
    <aside class="hs-preview" aria-label={`Head ${layer}.${head}`} data-head={`${layer}.${head}`}>
      <p>
        Head{" "}
        <strong>
          {layer}.{head}
        </strong>
        {views.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            class="hs-button"
            onClick={() => setState({ view: name, layer, heads: [head] })}
          >
            {title}
          </button>
        ))}
      </p>
      <CardLine head="" card={cardOf(seen, stack, layer, head)} />
      {error !== null && <Trouble>{error}</Trouble>}
      <div ref={box} class="hs-preview-box">
        <canvas ref={canvas} role="img" aria-label={`Attention of head ${layer}.${head}`} />
      </div>
    </aside>
  );
}
