/** What the atlas and map views have in common: picker, legend, filter, selection, and the page of a head beside them. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Busy, Field, Switch, Trouble } from "../frame/parts";
import { type Size, useSize } from "../hooks";
import type { SetState, State } from "../state";
import { type AtlasLook, nameOf, useAtlas, useHeadPage } from "./atlasdata";
import { Legend } from "./atlaslegend";
import { Picker } from "./atlaspicker";
import { type Kept, labelsOf, printPick, shownValue } from "./headfilter";
import { HeadCard } from "./headpage";
import type { ViewProps } from "./view";

export interface PlotProps {
  look: AtlasLook;
  state: State;
  setState: SetState;
  dark: boolean;
  size: Size;
  hovered: number | null;
  setHovered: (index: number | null) => void;
  describe: (index: number) => string;
  choose: (index: number, how: "open" | "add") => void;
}

/** A change of what a view keeps for itself; empty values leave the link. */
export function withExtra(state: State, name: string, value: string): Partial<State> {
  const extra = { ...state.extra };
  if (value === "") delete extra[name];
  else extra[name] = value;
  return { extra };
}

/** A head in words: its name, its value, and its kind. */
export function described(look: AtlasLook, index: number): string {
  const { colouring, stack } = look;
  const name = `Head ${nameOf(stack, index)}`;
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

export function AtlasFrame({ props, plot: Plot }: { props: ViewProps; plot: (given: PlotProps) => ComponentChildren }) {
  const { source, state, setState, dark } = props;
  const { id, look, error, busy } = useAtlas(source, state, dark);
  return (
    <div class="at" aria-busy={busy}>
      {look ? (
        <Body {...{ props, look, Plot, setState, state, dark }} />
      ) : (
        <div class="at-bar">
          <AtlasPicker {...{ source, state, setState, id }} />
        </div>
      )}
      {error ? (
        <Trouble>{error}</Trouble>
      ) : (
        look === null &&
        (busy ? <Busy>The atlas is being read …</Busy> : <Trouble>This atlas says nothing about single heads.</Trouble>)
      )}
    </div>
  );
}

function AtlasPicker({
  source,
  state,
  setState,
  id,
}: Pick<ViewProps, "source" | "state" | "setState"> & { id: string }) {
  if (source.about.atlases.length < 2) return null;
  return (
    <Field label="Atlas">
      <select
        aria-label="Atlas"
        value={id}
        onChange={(event) =>
          setState({ atlas: event.currentTarget.value, colour: "", selected: [], ...withExtra(state, "x-pick", "") })
        }
      >
        {source.about.atlases.map((atlas) => (
          <option key={atlas.id} value={atlas.id}>
            {atlas.name}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface BodyProps {
  props: ViewProps;
  look: AtlasLook;
  Plot: (given: PlotProps) => ComponentChildren;
  state: State;
  setState: SetState;
  dark: boolean;
}

function Body({ props, look, Plot, state, setState, dark }: BodyProps) {
  const { source } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const size = useSize(place);
  const { stack, colouring } = look;
  useEffect(() => setHovered(null), [stack]);
  const describe = (index: number) => described(look, index);
  const choose = (index: number, how: "open" | "add") => {
    if (how === "add") setState({ selected: toggledHead(state.selected, nameOf(stack, index)) });
    else setState({ stack: stack.name, layer: Math.floor(index / stack.heads), heads: [index % stack.heads] });
  };
  const said = hovered ?? look.current;
  return (
    <>
      <div class="at-bar">
        <AtlasPicker {...{ source, state, setState, id: look.atlas.id }} />
        {look.atlas.stacks.length > 1 && (
          <Field label="Stack">
            <Switch
              label="Stack"
              value={stack.name}
              options={look.atlas.stacks.map(({ name }) => [name, name] as const)}
              onChange={(name) => setState({ stack: name, layer: 0, heads: [], selected: [] })}
            />
          </Field>
        )}
        <Field label="Coloured by">
          <Picker
            colourings={stack.colourings}
            chosen={colouring}
            onChoose={(key) => setState({ colour: key, ...withExtra(state, "x-pick", "") })}
          />
        </Field>
        <Legend
          {...{ look, dark, hovered: said }}
          setPick={(pick: Kept) => setState(withExtra(state, "x-pick", printPick(pick)))}
          setStretched={(on) => setState(withExtra(state, "x-stretch", on ? "1" : ""))}
        />
      </div>
      <div class="at-body">
        <div class="at-plot" ref={place}>
          <p class="at-said" role="status">
            {said === null ? "Hover or click a head; Shift + click selects several." : describe(said)}
          </p>
          {size.width > 0 && <Plot {...{ look, state, setState, dark, size, hovered, setHovered, describe, choose }} />}
          <Below {...{ look, setState }} />
        </div>
        {source.headPage && <Beside {...{ props, look, state, setState, dark }} />}
      </div>
    </>
  );
}

/** How many heads are left, and what the numbers are about. */
function Below({ look, setState }: Pick<BodyProps, "look" | "setState">) {
  const { atlas, bright, selected, colouring } = look;
  const left = bright.filter(Boolean).length;
  return (
    <>
      <p class="at-selection">
        {left < bright.length ? `${left} of ${bright.length} heads` : `${left} heads`}
        {selected.size > 0 && (
          <>
            {` · ${selected.size} selected `}
            <button type="button" class="hs-button" onClick={() => setState({ selected: [] })}>
              Clear the selection
            </button>
          </>
        )}
      </p>
      {colouring?.about && <p class="at-about">{colouring.about}</p>}
      <p class="at-about">{[atlas.model, atlas.architecture, atlas.about].filter(Boolean).join(" · ")}</p>
      {atlas.findings.length > 0 && (
        <details class="at-findings" open={atlas.findings.length <= FEW_FINDINGS}>
          <summary>Findings ({atlas.findings.length})</summary>
          <ul>
            {atlas.findings.map((finding, index) => (
              <li key={index}>{finding}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Beside({ props, look, state, setState, dark }: Omit<BodyProps, "Plot">) {
  const { value, error, busy } = useHeadPage(props.source, look);
  const views = lookableIn(props, look);
  return (
    <aside class="at-beside" aria-busy={busy}>
      {error && <Trouble>{error}</Trouble>}
      {value && look.current !== null ? (
        <HeadCard {...{ page: value, dark, state, setState, views }} />
      ) : busy ? (
        <Busy>The head's page is being read …</Busy>
      ) : (
        !error && <p class="at-hint">Click a head to open its page.</p>
      )}
    </aside>
  );
}

const FEW_FINDINGS = 8;
const OF_TEXT = [
  { name: "head", title: "head view" },
  { name: "matrix", title: "matrix" },
  { name: "neuron", title: "neurons" },
];

/** The views of a text in which this head can be looked at: those of the atlas's own model. */
function lookableIn({ source, seen }: ViewProps, { atlas, stack }: AtlasLook): { name: string; title: string }[] {
  if (source.maps === undefined) return [];
  const sameGrid = seen?.stacks.some(
    ({ name, layers, heads }) => name === stack.name && layers === stack.layers && heads === stack.heads,
  );
  const fits =
    seen === null
      ? source.about.models[0]?.name === atlas.model
      : sameGrid && (source.kind !== "server" || seen.model === atlas.model);
  return fits ? OF_TEXT.filter(({ name }) => name !== "neuron" || source.neurons !== undefined) : [];
}
