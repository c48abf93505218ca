/** Keys. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Source } from "../data/source";

/** What moves a page that is longer than the window. */
const SCROLLING = /^(Arrow|Page|Home$|End$| $)/;

/**
 * Calls `use` with keys that no field has used; it says whether it did. A view is asked before the frame, and asked wherever
 * the focus is: arrows need no click first.
 *
 * A page of its own listens everywhere, a widget inside itself. Where there is more than the explorer (a report, which has it
 * in a section), keys count inside that section; and when nothing has the focus, those that would not scroll the page.
 */
export function useKeys(
  inside: { readonly current: HTMLElement | null },
  source: Source,
  use: (event: KeyboardEvent) => boolean,
  who: "view" | "frame" = "view",
): void {
  const latest = useRef(use);
  latest.current = use;
  // As soon as the view is there: a key must not go to the frame because the view was not listening yet.
  useLayoutEffect(() => {
    const isWidget = source.kind === "widget";
    const root = inside.current?.closest(".headscope") ?? null;
    const section = isWidget ? null : (root?.closest("section") ?? null);
    // One step further out than the views, so that the frame hears a key after them, whoever was there first.
    const ofView = isWidget ? root : document;
    const ofFrame = isWidget ? (root?.parentElement ?? null) : window;
    const target: EventTarget | null = who === "view" ? ofView : ofFrame;
    const listen = (event: Event): void => {
      const key = event as KeyboardEvent;
      if (key.defaultPrevented || key.ctrlKey || key.metaKey || key.altKey || isField(key.target)) return;
      if (section !== null && !meant(key, section)) return;
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

/** Whether a key pressed on a page with other parts is for the explorer. */
function meant(event: KeyboardEvent, section: Element): boolean {
  if (event.target instanceof Node && section.contains(event.target)) return true;
  return event.target === document.body && !SCROLLING.test(event.key);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}
