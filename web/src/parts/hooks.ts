/** What views share: sizes, and data that is on its way. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Seen } from "../data/api";
import type { LayerMaps, Source } from "../data/source";

export interface Size {
  width: number;
  height: number;
}

/** The size of an element's content box, followed as it changes; zeros before it is laid out. */
export function useSize(ref: { readonly current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

export interface Loaded<T> {
  value: T | null;
  /** In words, when it failed. */
  error: string | null;
  /** True while a newer value is on its way (`value` is then the last one). */
  busy: boolean;
}

/** What `load` promises, loaded anew when one of `needs` changes; one that is not waited for any more is called off. */
export function useLoaded<T>(load: ((signal: AbortSignal) => Promise<T>) | null, needs: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: null, error: null, busy: load !== null });
  // Before the next picture, not after it: what is there already is shown at once.
  useLayoutEffect(() => {
    if (load === null) {
      setLoaded({ value: null, error: null, busy: false });
      return;
    }
    const asked = new AbortController();
    const unless = (loaded: Loaded<T>): void => {
      if (!asked.signal.aborted) setLoaded(loaded);
    };
    setLoaded((old) => (old.busy ? old : { ...old, busy: true }));
    load(asked.signal).then(
      (value) => unless({ value, error: null, busy: false }),
      (error: unknown) => unless({ value: null, error: inWords(error), busy: false }),
    );
    return () => asked.abort();
  }, needs);
  return loaded;
}

export function inWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The maps of one layer; the layers beside it are fetched when there is time. Never those of another text. */
export function useLayerMaps(source: Source, seen: Seen, stack: string, layer: number): Loaded<LayerMaps> {
  const load = source.maps;
  const held = useRef<Seen | null>(null);
  const loaded = useLoaded(
    load === undefined
      ? null
      : async () => {
          const maps = await load(stack, layer);
          held.current = seen;
          return maps;
        },
    [source, seen, stack, layer],
  );
  useEffect(() => {
    if (load === undefined || loaded.busy || loaded.value === null) return;
    const layers = loaded.value.stack.layers;
    // As soon as this layer's picture is there: who has just opened a page turns to the next layer at once.
    return afterPicture(() => {
      for (const beside of [layer + 1, layer - 1]) {
        if (beside >= 0 && beside < layers) load(stack, beside).catch(() => undefined);
      }
    });
  }, [loaded.value, loaded.busy, source, stack, layer]);
  const stale = loaded.value !== null && (held.current !== seen || loaded.value.stack.name !== stack);
  return stale ? { value: null, error: null, busy: true } : loaded;
}

/** Calls `use` once the next picture is on the screen; the result takes that back. */
function afterPicture(use: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(use);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** Whether to draw for a dark page. */
export function useDark(theme: "auto" | "light" | "dark"): boolean {
  const [dark, setDark] = useState(() => theme === "dark" || (theme === "auto" && surroundingsAreDark()));
  useEffect(() => {
    if (theme !== "auto") {
      setDark(theme === "dark");
      return;
    }
    const decide = (): void => setDark(surroundingsAreDark());
    decide();
    const query = window.matchMedia("(prefers-color-scheme: dark)");
    query.addEventListener("change", decide);
    const observer = new MutationObserver(decide);
    observer.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind", "class"],
    });
    return () => {
      query.removeEventListener("change", decide);
      observer.disconnect();
    };
  }, [theme]);
  return dark;
}

/** Notebooks have a theme of their own, which need not be the system's. */
function surroundingsAreDark(): boolean {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  if (vscodeThemeKind !== undefined) return !vscodeThemeKind.includes("light");
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}
