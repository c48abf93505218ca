/** Views that other packages add: what they draw comes as JSON, and a script of theirs draws it (see the guide, "A view"). */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { AtlasStack, ViewInfo } from "../data/api";
import { atlasIn, type HeadPlace, type Source } from "../data/source";
import { Busy, Trouble } from "../parts/controls";
import { HeadGrid } from "../parts/headgrid";
import { inWords, useLoaded, useSize } from "../parts/hooks";
import type { View, ViewProps } from "./view";

/** What is shown around the view, and how to show something else. */
interface Now {
  dark: boolean;
  stack: string;
  layer: number;
  heads: readonly number[];
  show: (change: { view?: string; stack?: string; layer?: number; heads?: number[] }) => void;
}

/** Fills `place`; called again, with an empty place, when anything changes. What it returns is called before that. */
type Draw = (place: HTMLElement, data: unknown, now: Now) => (() => void) | undefined;

declare global {
  /** By name; the scripts of views put themselves here. */
  var headscopeViews: Record<string, Draw> | undefined;
}

async function drawer(source: Source, name: string): Promise<Draw> {
  await source.script?.(name);
  const draw = globalThis.headscopeViews?.[name];
  if (draw === undefined) throw new Error(`The script of “${name}” has exported nothing.`);
  return draw;
}

function Picture({ draw, data, now }: { draw: Draw; data: unknown; now: Now }) {
  const place = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<string | null>(null);
  const { dark, stack, layer, heads } = now;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    element.replaceChildren();
    try {
      const end = draw(element, data, now);
      setError(null);
      return typeof end === "function" ? end : undefined;
    } catch (error) {
      setError(inWords(error));
    }
  }, [draw, data, dark, stack, layer, heads.join()]);
  return (
    <>
      {error !== null && <Trouble>This view failed: {error}</Trouble>}
      <div ref={place} class="hs-extension" />
    </>
  );
}

/** The head that the address names, or the first; and all heads, to choose another one. */
function Heads({ stack, now }: { stack: AtlasStack; now: Now }) {
  const frame = useRef<HTMLDivElement>(null);
  const { width } = useSize(frame);
  const count = stack.layers * stack.heads;
  const name = (index: number) => `head ${Math.floor(index / stack.heads)}.${index % stack.heads}`;
  return (
    <div ref={frame}>
      <HeadGrid
        grid={stack}
        colours={Array<string>(count).fill("")}
        bright={Array<boolean>(count).fill(true)}
        framed={new Set()}
        current={now.layer * stack.heads + (now.heads[0] ?? 0)}
        room={Math.min(width, 360)}
        largest={20}
        label="Heads"
        describe={name}
        onHover={() => undefined}
        onChoose={(index) =>
          now.show({ layer: Math.floor(index / stack.heads), heads: [index % stack.heads], stack: stack.name })
        }
      />
    </div>
  );
}

function Extension({ info, source, seen, state, setState, dark }: ViewProps & { info: ViewInfo }) {
  const id = atlasIn(source.about, state)?.id ?? "";
  const atlas = useLoaded(info.subject === "head" ? (signal) => source.atlas!(id, signal) : null, [source, id]);
  const stack = atlas.value?.stacks.find(({ name }) => name === state.stack) ?? atlas.value?.stacks[0];
  const layer = stack ? Math.min(state.layer, stack.layers - 1) : state.layer;
  const place: HeadPlace | null = stack ? [stack.name, layer, Math.min(state.heads[0] ?? 0, stack.heads - 1)] : null;
  const waits = info.subject === "head" && place === null;
  const draw = useLoaded(() => drawer(source, info.name), [source, info]);
  const data = useLoaded(waits ? null : (signal) => source.view!(info, id, place, signal), [
    ...[source, info, id, place?.join(), info.subject === "text" ? seen : null],
  ]);
  const now = useMemo((): Now => {
    const heads = place === null ? state.heads : [place[2]];
    return { dark, stack: stack?.name ?? state.stack, layer, heads, show: setState };
  }, [dark, stack, state.stack, layer, place?.join(), state.heads]);
  const error = atlas.error ?? draw.error ?? data.error;
  if (error !== null) return <Trouble>{error}</Trouble>;
  if (draw.value === null || data.busy || waits) return <Busy>Drawing…</Busy>;
  return (
    <>
      {stack && <Heads stack={stack} now={now} />}
      <Picture draw={draw.value} data={data.value} now={now} />
    </>
  );
}

/** The view that `info` describes. */
export function extension(info: ViewInfo): View {
  return {
    name: info.name,
    title: info.title,
    about: info.about,
    needs: info.subject === "text" ? "text" : "atlas",
    controls: info.controls ?? [],
    component: (props) => <Extension info={info} {...props} />,
  };
}
