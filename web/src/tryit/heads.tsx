/** The heads to switch off: by name, by clicks on a grid, or by what they do. */

import { useMemo, useRef, useState } from "preact/hooks";
import { type AtlasLook, lookAt } from "../atlas/data";
import { described } from "../atlas/frame";
import { Scale } from "../atlas/legend";
import { Picker } from "../atlas/picker";
import { colour } from "../atlas/settings";
import type { AtlasData } from "../data/api";
import { kindColour } from "../parts/colour";
import { Busy, Switch, Trouble } from "../parts/controls";
import { type Grid, HeadGrid, inNetwork } from "../parts/headgrid";
import { useSize } from "../parts/hooks";
import type { How } from "../shell/edit";
import * as settings from "../shell/edit";
import type { State } from "../shell/state";
import type { ViewProps } from "../shell/view";
import { headKey, printHeads } from "./headnames";

const MOST = 24; // pixels a head

interface HeadsProps {
  /** What colours the heads: an atlas of the model, or of the text. */
  atlas: AtlasData | null;
  ofText: boolean;
  grids: readonly Grid[];
  heads: ReadonlySet<string>;
  off: string;
  how: How;
  error: string;
  dark: boolean;
  state: State;
  setState: ViewProps["setState"];
}

export function Heads(props: HeadsProps) {
  const { atlas, ofText, grids, heads, off, how, error, dark, state, setState } = props;
  const place = useRef<HTMLDivElement>(null);
  const size = useSize(place);
  const [over, setOver] = useState<string>("");
  const write = (text: string) => setState({ settings: settings.off.to(text) });
  const toggle = (keys: readonly string[]) => {
    const next = new Set(heads);
    const all = keys.every((key) => next.has(key));
    for (const key of keys) {
      if (all) next.delete(key);
      else next.add(key);
    }
    write(printHeads(next, grids));
  };
  const looks = useMemo(
    () => grids.map(({ name }) => (atlas === null ? null : lookAt(atlas, { ...state, stack: name, heads: [] }, dark))),
    [atlas, grids, colour.of(state), dark],
  );
  const first = looks[0] ?? null;
  return (
    <fieldset class="ti-heads">
      <legend>Heads to switch off</legend>
      <div class="ti-row">
        <input
          type="text"
          aria-label="Heads to switch off"
          aria-invalid={error !== ""}
          placeholder="3.2, layer 7, top 10 by entropy …"
          value={off}
          onInput={(event) => write(event.currentTarget.value)}
        />
        <Switch
          label="How heads are switched off"
          value={how}
          options={[
            ["zero", "zero", "the head's output is removed"],
            ["uniform", "uniform", "the head looks evenly at every token it may see"],
          ]}
          onChange={(one) => setState({ settings: settings.how.to(one) })}
        />
        <button type="button" class="hs-button" disabled={off === ""} onClick={() => write("")}>
          None
        </button>
      </div>
      {error !== "" && <Trouble>{error}</Trouble>}
      <div ref={place} class="ti-grids">
        {size.width > 0 &&
          grids.map((grid, index) => (
            <Switches
              key={grid.name}
              {...{ grid, heads, toggle, setOver }}
              look={looks[index] ?? null}
              room={size.width}
              titled={grids.length > 1}
            />
          ))}
        {grids.length === 0 && <Busy>Loading the heads …</Busy>}
      </div>
      {grids.length > 0 && (
        <p class="at-about">
          {over || `Click heads, or the number of a layer. ${heads.size > 0 ? `${heads.size} off.` : ""}`}
        </p>
      )}
      {first !== null && <Colours {...{ look: first, dark, setState, ofText, write }} several={grids.length > 1} />}
    </fieldset>
  );
}

interface ColoursProps {
  look: AtlasLook;
  dark: boolean;
  /** Whether the colours are of the text alone. */
  ofText: boolean;
  several: boolean;
  setState: ViewProps["setState"];
  write: (text: string) => void;
}

/** What the colours are, and the heads that have most of it. */
function Colours({ look, dark, ofText, several, setState, write }: ColoursProps) {
  const { colouring, stack } = look;
  const total = stack.layers * stack.heads;
  const [asked, setCount] = useState(10);
  const count = Math.min(asked, total);
  if (colouring === null) return null;
  const named = (end: string) => `${several ? `${stack.name} ` : ""}${end} ${count} by ${colouring.rank}`;
  return (
    <div class="ti-colours">
      <div class="ti-row">
        <span class="hs-label">{ofText ? "Coloured by, on this text:" : "Coloured by:"}</span>
        <Picker
          colourings={stack.colourings}
          chosen={colouring}
          onChoose={(key) => setState({ settings: colour.to(key) })}
        />
      </div>
      {colouring.kind === "category" ? (
        <p class="ti-kinds">
          {(colouring.labels ?? []).map((label, index) => (
            <span key={label}>
              <i style={{ background: kindColour(index, dark) }} /> {label}
            </span>
          ))}
        </p>
      ) : (
        <Scale {...{ look, dark, colouring }} value={null} />
      )}
      {colouring.rank != null && (
        <div class="ti-row">
          <span class="hs-label">Switch off the</span>
          <input
            type="number"
            min="1"
            max={total}
            aria-label="How many heads"
            value={count}
            onInput={(event) => setCount(event.currentTarget.valueAsNumber || 1)}
          />
          <button type="button" class="hs-button" onClick={() => write(named("top"))}>
            highest
          </button>
          <button type="button" class="hs-button" onClick={() => write(named("bottom"))}>
            lowest
          </button>
        </div>
      )}
    </div>
  );
}

interface SwitchesProps {
  grid: Grid;
  look: AtlasLook | null;
  heads: ReadonlySet<string>;
  room: number;
  titled: boolean;
  toggle: (keys: readonly string[]) => void;
  setOver: (words: string) => void;
}

function Switches({ grid, look, heads, room, titled, toggle, setOver }: SwitchesProps) {
  const [cursor, setCursor] = useState<number | null>(null);
  const count = grid.layers * grid.heads;
  const nameOf = (index: number) => `${Math.floor(index / grid.heads)}.${index % grid.heads}`;
  const isOff = (index: number) => heads.has(headKey(grid.name, Math.floor(index / grid.heads), index % grid.heads));
  const none = useMemo(() => Array<string>(count).fill(""), [count]);
  const bright = useMemo(() => Array.from({ length: count }, (_, index) => !isOff(index)), [heads, count]);
  const framed = useMemo(
    () =>
      new Set(
        Array.from({ length: count }, (_, index) => index)
          .filter(isOff)
          .map(nameOf),
      ),
    [heads, count],
  );
  const describe = (index: number): string =>
    `${look === null ? `Head ${nameOf(index)}${inNetwork(grid, Math.floor(index / grid.heads))}` : described(look, index)} · ${isOff(index) ? "off" : "on"}`;
  return (
    <>
      {titled && <p class="hp-what">{grid.name}</p>}
      <HeadGrid
        {...{ grid, bright, framed, room, describe }}
        colours={look?.colours ?? none}
        current={cursor}
        largest={MOST}
        label={`Heads of the ${grid.name} to switch off`}
        onHover={(index) => setOver(index === null ? "" : describe(index))}
        onMove={setCursor}
        onChoose={(index) => {
          setCursor(index);
          toggle([headKey(grid.name, Math.floor(index / grid.heads), index % grid.heads)]);
        }}
        onLayer={(layer) => toggle(Array.from({ length: grid.heads }, (_, head) => headKey(grid.name, layer, head)))}
      />
    </>
  );
}
