/** What the atlas and map views have in common: picker, legend, filter, selection, keys, and the page of a head beside them. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { atlasTitle } from "../data/source";
import { StackedHeads } from "../headpage/stacked";
import { SelectionBar } from "../map/selection";
import { Busy, Field, Switch, Trouble } from "../parts/controls";
import { inNetwork, moved } from "../parts/headgrid";
import { type Size, useSize } from "../parts/hooks";
import { Save, standalone } from "../parts/save";
import { useKeys } from "../shell/keys";
import type { SetState, State } from "../shell/state";
import type { ViewProps } from "../shell/view";
import { WEIGH_WORDS, weigh } from "../shell/weigh";
import { Beside } from "./beside";
import { type AtlasLook, nameOf, useAtlas } from "./data";
import { headRows, KEEP_ALL, labelsOf, shownValue } from "./filter";
import { Findings } from "./findings";
import { Legend } from "./legend";
import { Picker } from "./picker";
import { colour, pick, selected, stretched } from "./settings";

export interface PlotProps {
  look: AtlasLook;
  state: State;
  setState: SetState;
  dark: boolean;
  /** The room there is for the plot. */
  size: Size;
  hovered: number | null;
  setHovered: (index: number | null) => void;
  describe: (index: number) => string;
  choose: (index: number, how: "open" | "add") => void;
  /** What Escape does first, while there is something to let go of. */
  letGo: { current: (() => void) | null };
}

/** A picture of all heads, and how wide it is in the room there is. */
export interface Plot {
  /** Whether it shows places of heads, which may take longer to come. */
  needsMaps?: boolean;
  picture: (given: PlotProps) => ComponentChildren;
  width: (look: AtlasLook, room: Size) => number;
}

/** For the help. */
export const ATLAS_KEYS = [
  ["← → ↑ ↓", "the head beside, above or below"],
  ["Escape", "clear the selection"],
] as const;

/** A head in words: its name, its value, and its kind. */
export function described(look: AtlasLook, index: number): string {
  const { colouring, stack } = look;
  const name = `Head ${nameOf(stack, index)}${inNetwork(stack, Math.floor(index / stack.heads))}`;
  if (colouring === null) return name;
  const kind = labelsOf(
    stack.colourings.filter((one) => one !== colouring && one.key === "head_type"),
    index,
  );
  return [`${name}: ${shownValue(colouring, index)}`, ...kind].join(" · ");
}

/** The selection after one head was added or taken away. */
export function toggledHead(selected: readonly string[], name: string): string[] {
  return selected.includes(name) ? selected.filter((one) => one !== name) : [...selected, name];
}

export function AtlasFrame({ props, plot }: { props: ViewProps; plot: Plot }) {
  const { source, state, setState, dark } = props;
  const { id, look, error, busy } = useAtlas(source, state, dark, plot.needsMaps);
  return (
    <div class="at" aria-busy={busy}>
      {look ? (
        <Body {...{ props, look, plot }} />
      ) : (
        <div class="at-bar">
          <AtlasPicker {...{ source, setState, id }} />
        </div>
      )}
      {error ? (
        <Trouble>{error}</Trouble>
      ) : (
        look === null &&
        (busy ? <Busy>Loading the atlas …</Busy> : <Trouble>This atlas has no numbers for single heads.</Trouble>)
      )}
    </div>
  );
}

function AtlasPicker({ source, setState, id }: Pick<ViewProps, "source" | "setState"> & { id: string }) {
  if (source.about.atlases.length < 2) return null;
  return (
    <Field label="Atlas">
      <select
        aria-label="Atlas"
        value={id}
        onChange={(event) =>
          setState({
            ...{ atlas: event.currentTarget.value, hq: "" },
            model: source.about.atlases.find((atlas) => atlas.id === event.currentTarget.value)?.model ?? "",
            ...{ stack: "", layer: 0, heads: [] }, // the head that is worth a look there
          })
        }
      >
        {source.about.atlases.map((atlas) => (
          <option key={atlas.id} value={atlas.id}>
            {atlasTitle(atlas)}
          </option>
        ))}
      </select>
    </Field>
  );
}

export interface BodyProps {
  props: ViewProps;
  look: AtlasLook;
  plot: Plot;
}

/** Narrower than this (as in atlas.css), the head's page stands below. */
const SIDE_BY_SIDE = 720;
const PADDING = 24;
const SCROLLBAR = 14;

/** The room for a plot: about half of the width, and the height that is left by the lines around it. */
function roomIn({ width, height }: Size): Size {
  return width > SIDE_BY_SIDE
    ? { width: 0.5 * width - PADDING - SCROLLBAR, height: Math.max(260, height - LINES) }
    : { width: width - PADDING, height: Math.max(260, 0.45 * window.innerHeight) };
}
const LINES = 128; // what is pointed at, how many are left, what is measured, that there are findings

function Body({ props, look, plot }: BodyProps) {
  const { source, state, setState, dark } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const [asked, setAsked] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const letGo = useRef<(() => void) | null>(null);
  const size = useSize(place);
  const { stack } = look;
  useEffect(() => setHovered(null), [stack]);
  const describe = (index: number) => described(look, index);
  const to = (index: number) =>
    setState({ stack: stack.name, layer: Math.floor(index / stack.heads), heads: [index % stack.heads] });
  const open = (index: number) => {
    to(index);
    setAsked((times) => times + 1);
  };
  const choose = (index: number, how: "open" | "add") => {
    if (how === "add") setState({ settings: selected.to(toggledHead([...look.selected], nameOf(stack, index))) });
    else open(index);
  };
  useKeys(place, source, (event) => {
    const next = event.shiftKey ? null : moved(look.current, event.key, stack);
    if (next !== null) to(next);
    else if (event.key === "Escape" && letGo.current) letGo.current();
    else if (event.key === "Escape" && look.selected.size > 0) setState({ settings: selected.to([]) });
    else return false;
    return true;
  });
  const said = hovered ?? look.current;
  const wide = size.width > SIDE_BY_SIDE;
  const room = roomIn(size);
  const columns = wide ? `${Math.max(380, plot.width(look, room) + PADDING + SCROLLBAR)}px minmax(0, 1fr)` : undefined;
  return (
    <>
      <Bar {...{ props, look, said }} plot={place} />
      <div class="at-body" ref={place} style={{ gridTemplateColumns: source.headPage ? columns : undefined }}>
        <div class="at-plot">
          <p class="at-said" role="status">
            {said === null ? "Hover or click a head; Shift + click selects several." : describe(said)}
          </p>
          {size.width > 0 &&
            plot.picture({ look, state, setState, dark, size: room, hovered, setHovered, describe, choose, letGo })}
          <Below {...{ props, look }} />
          {stack.stacked && (
            <StackedHeads stacked={stack.stacked} nameOf={(index) => nameOf(stack, index)} {...{ dark, open }} />
          )}
          {size.width > 0 && <Findings {...{ look, wide, open }} />}
        </div>
        {source.headPage && <Beside {...{ props, look, asked }} />}
      </div>
    </>
  );
}

/** The controls above. */
interface BarProps extends Omit<BodyProps, "plot"> {
  said: number | null;
  /** Where the picture is drawn. */
  plot: { readonly current: HTMLElement | null };
}

function Bar({ props, look, said, plot }: BarProps) {
  const { source, setState, dark } = props;
  const { stack, colouring } = look;
  return (
    <div class="at-bar">
      <AtlasPicker {...{ source, setState, id: look.atlas.id }} />
      {look.atlas.model !== "" && (
        <Field label="Model">
          <strong>{look.atlas.model}</strong>
        </Field>
      )}
      {look.atlas.stacks.length > 1 && (
        <Field label="Stack">
          <Switch
            label="Stack"
            value={stack.name}
            options={look.atlas.stacks.map(({ name }) => [name, name] as const)}
            onChange={(name) => setState({ stack: name, layer: 0, heads: [], settings: selected.to([]) })}
          />
        </Field>
      )}
      <Field label="Coloured by">
        <Picker
          colourings={stack.colourings}
          chosen={colouring}
          onChoose={(key) => {
            const one = stack.colourings.find((each) => each.key === key);
            const as = one?.other ? weigh.to(one.weigh ?? "looked") : {};
            setState({ settings: { ...colour.to(key), ...pick.to(KEEP_ALL), ...as } });
          }}
        />
        {colouring && stack.colourings.some(({ other }) => other) && (
          <Switch
            label="Where heads look, or what they move"
            value={colouring.weigh ?? "looked"}
            options={WEIGH_WORDS.slice(0, 2)}
            whyNot={(wanted) =>
              wanted === (colouring.weigh ?? "looked") || colouring.other
                ? ""
                : `The atlas has no such number of what heads ${wanted === "moved" ? "move" : "look at"}.`
            }
            onChange={(wanted) => setState({ settings: { ...weigh.to(wanted), ...pick.to(KEEP_ALL) } })}
          />
        )}
      </Field>
      <Legend
        {...{ look, dark, hovered: said }}
        setPick={(kept) => setState({ settings: pick.to(kept) })}
        setStretched={(on) => setState({ settings: stretched.to(on) })}
      />
      <Save
        name={`${look.atlas.model} ${colouring?.title ?? "heads"}`}
        svg={() => {
          const drawing = plot.current?.querySelector<SVGSVGElement>("svg.hg, svg.mp") ?? null;
          return drawing && standalone(drawing);
        }}
        table={() => headRows(stack)}
      />
    </div>
  );
}

/** How many heads are left, and what the numbers are about. */
function Below({ props, look }: { props: ViewProps; look: AtlasLook }) {
  const { state, setState } = props;
  const { atlas, bright, colouring } = look;
  const left = bright.filter(Boolean).length;
  const searched = state.hq.trim();
  const about = colouring?.stderr ? `${colouring.about}; ± is one standard error` : colouring?.about;
  return (
    <>
      <p class="at-selection">
        {left === 0 && searched
          ? `No head matches “${searched}”`
          : left < bright.length
            ? `${left} of ${bright.length} heads${searched ? ` answer “${searched}”` : ""}`
            : `${left} heads`}
        {searched && (
          <button type="button" class="hs-button" onClick={() => setState({ hq: "" })}>
            Clear the search
          </button>
        )}
      </p>
      {look.selected.size > 0 && <SelectionBar {...{ props, look }} />}
      {about && <p class="at-about">{about}</p>}
      <p class="at-about">{[atlas.model, atlas.architecture, atlas.about].filter(Boolean).join(" · ")}</p>
    </>
  );
}
