/** The rows of the neuron view: one key each, drawn on a canvas as large as what is in sight. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Neurons } from "../data/api";
import { picture } from "../parts/canvas";
import { Switch } from "../parts/controls";
import { useSize } from "../parts/hooks";
import { draw, type Inks, inksOf, type Pictures, signedPixels } from "./draw";
import { HEADER, layoutFor, ROW } from "./layout";
import { type Carrier, products, type QueryScores, strongest } from "./score";

export interface TableProps {
  neurons: Neurons;
  query: number;
  scores: QueryScores;
  /** (key) the weights of the map, where they should be shown beside. */
  mapped: ArrayLike<number> | null;
  /** How far they may be off. */
  error: number;
  labels: readonly string[];
  queryLabel: string;
  found: readonly boolean[];
  top: readonly Carrier[];
  /** The neuron pointed at in the ranking. */
  neuron: number | null;
  key_: number | null;
  pinned: boolean;
  dark: boolean;
  onKey: (key: number | null) => void;
  onPin: (key: number) => void;
}

function usePictures({ neurons, query, dark }: TableProps): Pictures {
  const width = neurons.keys[0]?.length ?? 1;
  const keys = useMemo(
    () =>
      picture(
        signedPixels(neurons.keys, width, strongest(neurons.keys), dark),
        width,
        Math.max(1, neurons.keys.length),
      ),
    [neurons, dark],
  );
  const fullQuery = useMemo(() => strongest(neurons.queries), [neurons]);
  const queries = useMemo(
    () => picture(signedPixels([neurons.queries[query] ?? []], width, fullQuery, dark), width, 1),
    [neurons, query, dark, fullQuery],
  );
  const multiplied = useMemo(() => {
    const rows = neurons.keys.map((_, key) => products(neurons, query, key));
    return picture(signedPixels(rows, width, strongest(rows), dark), width, Math.max(1, rows.length));
  }, [neurons, query, dark]);
  return { queries, keys, products: multiplied };
}

export function NeuronTable(props: TableProps) {
  const { neurons, labels, key_, onKey, onPin } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const [scroll, setScroll] = useState(0);
  const [rather, setRather] = useState<"key" | "product">("product");
  const pictures = usePictures(props);
  const layout = layoutFor(size.width, {
    neurons: neurons.keys[0]?.length ?? 1,
    biased: neurons.bias !== null || neurons.soft_cap !== null,
    mapped: props.mapped !== null,
    rather,
  });
  const both = layout.key !== null && layout.product !== null;
  const tall = HEADER + labels.length * ROW;
  const high = Math.min(size.height, tall);
  const inks = useRef<{ dark: boolean; inks: Inks } | null>(null);
  useEffect(() => {
    if (canvas.current === null || size.width === 0) return;
    // Reading the page's colours takes longer than drawing.
    if (inks.current?.dark !== props.dark) inks.current = { dark: props.dark, inks: inksOf(canvas.current) };
    draw(canvas.current, { ...props, layout, pictures, scroll, high }, inks.current.inks);
  });
  const keyAt = (event: MouseEvent): number | null => {
    const frame = canvas.current?.getBoundingClientRect();
    if (!frame) return null;
    const y = event.clientY - frame.top;
    const key = Math.floor((y - HEADER + scroll) / ROW);
    return y >= HEADER && key >= 0 && key < labels.length ? key : null;
  };
  const arrows = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (by === undefined) return;
    const next = key_ === null ? 0 : Math.max(0, Math.min(labels.length - 1, key_ + by));
    onKey(null);
    onPin(next);
    if (box.current) {
      const [above, below] = [next * ROW, (next + 1) * ROW + HEADER - high];
      if (box.current.scrollTop > above) box.current.scrollTop = above;
      if (box.current.scrollTop < below) box.current.scrollTop = below;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const long = key_ === null ? "" : (labels[key_] ?? "");
  return (
    <div class="nv-tablepart">
      {size.width > 0 && !both && (
        <div class="nv-strips">
          <Switch
            label="What is shown of each key"
            value={rather}
            options={[
              ["product", "q × k", "what each neuron adds to the score"],
              ["key", "k", "the key's own numbers"],
            ]}
            onChange={setRather}
          />
          <span class="hs-muted">no room for both here</span>
        </div>
      )}
      <div
        class="nv-table"
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={`Keys of “${props.queryLabel}”: arrow keys choose one`}
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onKeyDown={arrows}
      >
        <div style={{ height: `${tall}px`, width: `${Math.max(layout.width, 1)}px` }}>
          <canvas
            ref={canvas}
            class="nv-canvas"
            title={long.length > 12 ? long : ""}
            onPointerMove={(event) => onKey(keyAt(event))}
            onPointerLeave={() => onKey(null)}
            onClick={(event) => {
              const key = keyAt(event);
              if (key !== null) onPin(key);
            }}
          />
        </div>
      </div>
    </div>
  );
}
