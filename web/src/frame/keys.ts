/** Keys. */
import { useEffect, useRef } from "preact/hooks";
import type { Source } from "../source";

/**
 * Calls `use` with keys that no field has used; it says whether it did. A page listens everywhere, a widget only inside
 * itself. A view is asked before the frame.
 */
export function useKeys(
  inside: { readonly current: HTMLElement | null },
  source: Source,
  use: (event: KeyboardEvent) => boolean,
): void {
  const latest = useRef(use);
  latest.current = use;
  useEffect(() => {
    const isWidget = source.kind === "widget";
    const target: EventTarget | null = isWidget ? (inside.current?.closest(".headscope") ?? null) : document;
    const listen = (event: Event): void => {
      const key = event as KeyboardEvent;
      if (key.defaultPrevented || key.ctrlKey || key.metaKey || key.altKey || isField(key.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (latest.current(key)) {
        key.preventDefault();
        if (isWidget) key.stopPropagation(); // notebooks have keys of their own
      }
    };
    target?.addEventListener("keydown", listen);
    return () => target?.removeEventListener("keydown", listen);
  }, [source]);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}
