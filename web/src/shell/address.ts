/** The state of a page, kept in its address; that of a widget is kept in memory only. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { atlasIn, type Source } from "../data/source";
import { changed, parseState, printState, type SetState, type State, stepOf } from "./state";
import { SETTINGS } from "./views";

/** The state that links are told apart from: what the maker of the page chose to show first. */
export function startOf(source: Source): State {
  return parseState(source.start, SETTINGS);
}

/** Milliseconds: changes that follow each other faster are one step back. */
const RUN = 1000;

export function useAddress(source: Source): [State, SetState] {
  // A page inside a frame of a saved notebook has no address of its own to change.
  const inPage = source.kind !== "widget" && location.protocol !== "about:";
  const [state, set] = useState<State>(() =>
    inPage ? parseState(location.hash, SETTINGS, startOf(source)) : startOf(source),
  );
  const latest = useRef(state);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const running = useRef(-RUN);
  const setState = useCallback<SetState>(
    (change) => {
      const before = latest.current;
      const after = changed(before, change, SETTINGS);
      latest.current = after;
      set(after);
      if (!inPage) return;
      const write = (how: "pushState" | "replaceState", said: State): void => {
        const fragment = printState(said, startOf(source));
        history[how](null, "", fragment === "" ? location.pathname + location.search : `#${fragment}`);
      };
      clearTimeout(timer.current);
      const first = {
        model: source.about.models[0]?.name ?? "",
        atlas: atlasIn(source.about, { ...before, atlas: "" })?.id ?? "",
      };
      const how = stepOf(before, after, SETTINGS, first);
      const goesOn = performance.now() - running.current < RUN;
      running.current = how === "run" ? performance.now() : how === "step" ? -RUN : running.current;
      if (how === "step" || (how === "run" && !goesOn)) {
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
      running.current = -RUN;
      latest.current = parseState(location.hash, SETTINGS, startOf(source));
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
