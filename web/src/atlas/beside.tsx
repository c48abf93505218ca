/** The page of the head that is open, beside the plot or, on a narrow page, below it. */

import { useEffect, useRef } from "preact/hooks";
import { HeadCard } from "../headpage/page";
import { Busy, Trouble } from "../parts/controls";
import type { ViewProps } from "../shell/view";
import { type AtlasLook, nameOf, useHeadPage } from "./data";

interface Props {
  props: ViewProps;
  look: AtlasLook;
  /** Counts the heads that were clicked: each is brought into sight. */
  asked: number;
}

export function Beside({ props, look, asked }: Props) {
  const { source, state, setState, dark } = props;
  const { value, error, busy } = useHeadPage(source, look);
  const box = useRef<HTMLElement>(null);
  const wanted = useRef(false);
  // Whether the page was there already or is on its way: it is shown when it is drawn.
  const show = () => {
    if (!wanted.current || busy) return;
    wanted.current = false;
    if (box.current && isBelow(box.current)) box.current.scrollIntoView({ block: "start", behavior: "instant" });
  };
  useEffect(() => {
    if (asked > 0) wanted.current = true;
    show();
  }, [asked]);
  useEffect(show, [value, busy]);
  const latest = useRef(show);
  latest.current = show;
  // A link of the page around, as in a report. The frame may have drawn it already, since "popstate" comes first.
  useEffect(() => {
    const follow = (): void => {
      if (!/[#&]heads=\d/.test(location.hash)) return;
      wanted.current = true;
      latest.current();
    };
    if (source.kind === "widget") return undefined;
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [source]);
  const back = () => box.current?.parentElement?.firstElementChild?.scrollIntoView({ block: "start" });
  return (
    <aside class="at-beside" aria-busy={busy} ref={box}>
      {error && <Trouble>{error}</Trouble>}
      {value && look.current !== null ? (
        <>
          {busy && (
            <div class="at-loading">
              <Busy>Loading head {nameOf(look.stack, look.current)} …</Busy>
            </div>
          )}
          <div class={busy ? "hs-stale" : undefined}>
            <HeadCard
              {...{ page: value, dark, source, state, setState, back }}
              {...{ model: look.atlas.model, command: look.atlas.command }}
              several={look.atlas.stacks.length > 1}
              views={lookableIn(props, look)}
            />
          </div>
        </>
      ) : busy ? (
        <Busy>Loading the head's page …</Busy>
      ) : (
        !error && <p class="at-hint">There is no such head here. Click one to open its page.</p>
      )}
    </aside>
  );
}

/** Whether an element stands below its neighbour rather than beside it. */
function isBelow(element: HTMLElement): boolean {
  const before = element.previousElementSibling?.getBoundingClientRect();
  return before !== undefined && element.getBoundingClientRect().top >= before.bottom - 1;
}

const OF_TEXT = [
  { name: "head", title: "head view" },
  { name: "matrix", title: "matrix" },
  { name: "neuron", title: "neurons" },
];

/** The views of a text in which this head can be looked at: those of the atlas's own model, if there is one of that name. */
export function lookableIn(
  { source, seen }: Pick<ViewProps, "source" | "seen">,
  { atlas, stack }: Pick<AtlasLook, "atlas" | "stack">,
): { name: string; title: string }[] {
  if (source.maps === undefined) return [];
  const sameGrid = seen?.stacks.some(
    ({ name, layers, heads }) => name === stack.name && layers === stack.layers && heads === stack.heads,
  );
  const fits =
    source.seen === undefined ? sameGrid === true : source.about.models.some(({ name }) => name === atlas.model);
  return fits ? OF_TEXT.filter(({ name }) => name !== "neuron" || source.neurons !== undefined) : [];
}
