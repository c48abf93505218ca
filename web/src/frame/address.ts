/** The state of a page, kept in its address; that of a widget is kept in memory only. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Source } from "../source";
import { changed, DEFAULTS, parseState, printState, type SetState, type State } from "../state";

/** The state that links are told apart from: what the maker of the page chose to show first. */
export function startOf(source: Source): State {
  return parseState(source.start, DEFAULTS);
}

export function useAddress(source: Source): [State, SetState] {
  const inPage = source.kind !== "widget";
  const [state, set] = useState<State>(() =>
    inPage ? parseState(location.hash, startOf(source)) : startOf(source),
  );
  const latest = useRef(state);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const setState = useCallback<SetState>(
    (change) => {
      const before = latest.current;
      const after = changed(before, change);
      latest.current = after;
      set(after);
      if (!inPage) return;
      const write = (how: "pushState" | "replaceState", said: State): void => {
        const fragment = printState(said, startOf(source));
        history[how](null, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
      };
      clearTimeout(timer.current);
      if (after.view !== before.view) {
        // Going back returns to the last view; every other change is too small for a step of its own.
        write("replaceState", before);
        write("pushState", after);
      } else {
        // A slider must not flood the history.
        timer.current = setTimeout(() => write("replaceState", latest.current), 120);
      }
    },
    [source, inPage],
  );
  useEffect(() => {
    if (!inPage) return;
    const read = (): void => {
      clearTimeout(timer.current);
      latest.current = parseState(location.hash, startOf(source));
      set(latest.current);
    };
    addEventListener("popstate", read);
    addEventListener("hashchange", read);
    return () => {
      removeEventListener("popstate", read);
      removeEventListener("hashchange", read);
    };
  }, [source, inPage]);
  return [state, setState];
}
