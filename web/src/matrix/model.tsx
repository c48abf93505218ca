/** Model view: every layer and head as a small map. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { StackShape } from "../data/api";
import { cardOf, stackOf } from "../data/source";
import { useAxes } from "../data/weights";
import { prepare } from "../parts/canvas";
import { CardLine, Trouble } from "../parts/controls";
import { inNetwork, layerName, marginOf } from "../parts/headgrid";
import { inWords, useSize } from "../parts/hooks";
import { leastDrawn, stepped } from "../shell/choices";
import { useKeys } from "../shell/keys";
import { Legend } from "./legend";
import "./model.css";
import type { View, ViewProps } from "../shell/view";
import { thumbnail } from "./pixels";
import { ModelPreview } from "./preview";

const PADDING = 16; // of the box around them
const BAR = 16; // for its scroll bar
const ROOMY = 44; // pixels a map, when there is room across: rather scroll than squint
const GAP = 5; // pixels between maps
const PREVIEW = 420; // pixels at least for the map beside them; where there is less, none is there
const LONG = 40; // milliseconds of drawing without a rest
const TOP = 18; // for the numbers of heads

function ModelView({ source, seen, state, setState, dark }: ViewProps) {
  const stack = stackOf(seen!, state.stack);
  const axes = useAxes(seen!, stack, { filter: state.filter, level: "piece" });
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const part = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(part);
  const [over, setOver] = useState<{ layer: number; head: number } | null>(null);
  useEffect(() => setOver(null), [seen, stack]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const beside = width >= 2 * PREVIEW;
  const margin = marginOf(stack);
  const across = (width - margin - PADDING - (beside ? PREVIEW : 0)) / stack.heads;
  const down = Math.max(ROOMY, (height - TOP - PADDING) / stack.layers);
  const step = Math.floor(Math.max(28, Math.min(120, across, down)));
  const size = step - GAP;
  const wide = margin + step * stack.heads;
  const high = TOP + step * stack.layers;
  const head = state.heads[0] ?? 0;
  const threshold = leastDrawn(modelView, state, seen!, stack);
  const card = (layer: number, which: number): string => cardOf(seen!, stack, layer, which);
  const shown = over ?? { layer: state.layer, head };
  const open = (layer: number, which: number): void => setState({ view: "matrix", layer, heads: [which] });

  useKeys(box, source, (event) => {
    const change = event.shiftKey ? null : stepped({ ...state, heads: [head] }, stack, event.key);
    if (change === null) return false;
    setState(change);
    const at = { layer: state.layer, heads: [head], ...change };
    // With the focus on it, Enter opens it.
    box.current?.querySelector<HTMLElement>(`[data-head="${at.layer}.${at.heads[0]}"]`)?.focus();
    return true;
  });

  useEffect(() => {
    const element = canvas.current;
    if (element === null || width === 0 || source.maps === undefined) return;
    let wanted = true;
    setTrouble(null);
    const context = prepare(element, wide, high);
    delete element.dataset.drawn;
    const sharp = Math.max(1, Math.round(size * (window.devicePixelRatio || 1)));
    const paint = { threshold, scale: state.scale, dark };
    const draw = async (): Promise<void> => {
      const coming = Array.from({ length: stack.layers }, (_, layer) => source.maps!(stack.name, layer));
      for (const one of coming) one.catch(() => undefined); // the first that fails is told below
      let rested = performance.now();
      for (const [layer, one] of coming.entries()) {
        const maps = await one;
        if (!wanted) return;
        for (let each = 0; each < stack.heads; each++) {
          const image = thumbnail(maps, each, axes, sharp, seen!.levels, paint);
          context.imageSmoothingEnabled = false;
          context.drawImage(image, margin + each * step, TOP + layer * step, size, size);
        }
        if (performance.now() - rested > LONG) {
          await new Promise((resolve) => setTimeout(resolve)); // lets the page answer in between
          rested = performance.now();
        }
      }
      element.dataset.drawn = String(stack.layers);
    };
    draw().catch((error: unknown) => wanted && setTrouble(inWords(error)));
    return () => {
      wanted = false;
    };
  }, [source, seen, stack, axes, step, width === 0, threshold, state.scale, dark]);

  return (
    <div class="hs-model">
      <div class="hs-model-bar">
        <Legend {...{ setState, dark }} scale={state.scale} largest={null} seen={seen!} />
        <span class="hs-muted">
          {stack.layers} layers down, {stack.heads} heads across; a pixel is the largest {axes.amount} it stands for.{" "}
          {beside ? "Point at one to see it beside, click to open it." : "Click to enlarge."}
        </span>
        {!beside && <CardLine head={`${shown.layer}.${shown.head}`} card={card(shown.layer, shown.head)} />}
      </div>
      {trouble !== null && <Trouble>{trouble}</Trouble>}
      <div ref={part} class="hs-model-part">
        <div
          ref={box}
          class="hs-model-box"
          style={beside ? { flex: `0 0 ${wide + PADDING + BAR}px` } : {}}
          onPointerLeave={() => setOver(null)}
        >
          <div class="hs-model-inner" style={{ width: `${wide}px`, height: `${high}px` }}>
            {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: this canvas takes no focus, the buttons above it do */}
            <canvas ref={canvas} aria-hidden="true" />
            <Numbers stack={stack} step={step} />
            {Array.from({ length: stack.layers * stack.heads }, (_, at) => {
              const layer = Math.floor(at / stack.heads);
              const which = at % stack.heads;
              const chosen = layer === state.layer && which === head;
              return (
                <button
                  key={at}
                  type="button"
                  class="hs-thumb"
                  tabIndex={chosen ? 0 : -1}
                  aria-current={chosen}
                  aria-label={[`Head ${layer}.${which}: enlarge`, card(layer, which)].filter(Boolean).join(". ")}
                  title={`Head ${layer}.${which}${inNetwork(stack, layer)}\n${card(layer, which)}`.trim()}
                  data-head={`${layer}.${which}`}
                  style={{
                    left: `${margin + which * step}px`,
                    top: `${TOP + layer * step}px`,
                    width: `${size}px`,
                    height: `${size}px`,
                  }}
                  onPointerEnter={() => setOver({ layer, head: which })}
                  onFocus={() => setOver(null)} // the chosen one
                  onClick={() => open(layer, which)}
                />
              );
            })}
          </div>
        </div>
        {beside && (
          <ModelPreview
            {...{ source, stack, axes, threshold, state, setState, dark }}
            seen={seen!}
            layer={shown.layer}
            head={shown.head}
          />
        )}
      </div>
    </div>
  );
}

function Numbers({ stack, step }: { stack: StackShape; step: number }) {
  const margin = marginOf(stack);
  const size = step - GAP;
  return (
    <div aria-hidden="true">
      {Array.from({ length: stack.heads }, (_, head) => (
        <span
          key={`h${head}`}
          class="hs-axis"
          style={{ left: `${margin + head * step}px`, top: "0", width: `${size}px` }}
        >
          {head}
        </span>
      ))}
      {Array.from({ length: stack.layers }, (_, layer) => (
        <span
          key={`l${layer}`}
          class="hs-axis"
          style={{ left: "0", top: `${TOP + layer * step + size / 2 - 8}px`, width: `${margin - 4}px` }}
        >
          {layerName(stack, layer)}
        </span>
      ))}
    </div>
  );
}

export const modelView: View = {
  name: "model",
  title: "All heads",
  about: "Every layer and head as a small map. Point at one to see it large, click to open it.",
  needs: "text",
  controls: ["weigh", "filter", "threshold"],
  scale: ({ scale }) =>
    scale === "max" ? "each small map to its own largest weight" : "colours run from 0 to a weight of 1",
  keys: [
    ["↑ ↓ ← →", "layer and head"],
    ["Enter", "open the head"],
  ],
  component: ModelView,
};
