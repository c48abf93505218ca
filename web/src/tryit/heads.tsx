/** The heads to switch off: by name, or by clicks on a grid. */

import { useMemo, useRef, useState } from "preact/hooks";
import type { ModelInfo, Seen } from "../data/api";
import { rampColour } from "../parts/colour";
import { Switch, Trouble } from "../parts/controls";
import { type Grid, HeadGrid } from "../parts/headgrid";
import { useLoaded, useSize } from "../parts/hooks";
import type { How } from "../shell/edit";
import * as settings from "../shell/edit";
import type { ViewProps } from "../shell/view";
import { headKey, printHeads } from "./headnames";

/** The grids of a model's stacks, from the text that it has read; empty when it has read none. */
export function gridsOf(model: ModelInfo | undefined, seen: Seen | null): readonly Grid[] {
  return seen !== null && model !== undefined && seen.model === model.name ? seen.stacks : NO_GRIDS;
}

/** The same, with an atlas of the model as the last place to look. */
export function useGrids(
  source: ViewProps["source"],
  model: ModelInfo | undefined,
  seen: Seen | null,
): readonly Grid[] {
  const known = gridsOf(model, seen);
  const atlas = source.about.atlases.find((one) => one.model === model?.name)?.id;
  const load = source.atlas;
  const wanted = known.length === 0 && atlas !== undefined && load !== undefined;
  const { value } = useLoaded(wanted ? () => load(atlas) : null, [source, atlas, wanted]);
  return wanted ? (value?.stacks ?? NO_GRIDS) : known;
}

const NO_GRIDS: readonly Grid[] = [];

interface HeadsProps {
  grids: readonly Grid[];
  heads: ReadonlySet<string>;
  off: string;
  how: How;
  error: string;
  dark: boolean;
  setState: ViewProps["setState"];
}

export function Heads({ grids, heads, off, how, error, dark, setState }: HeadsProps) {
  const place = useRef<HTMLDivElement>(null);
  const size = useSize(place);
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
  return (
    <fieldset class="ti-heads">
      <legend>Heads to switch off</legend>
      <div class="ti-row">
        <input
          type="text"
          aria-label="Heads to switch off"
          aria-invalid={error !== ""}
          placeholder="3.2, layer 7, layers 9-11 …"
          value={off}
          onInput={(event) => write(event.currentTarget.value)}
        />
        <Switch
          label="How heads are switched off"
          value={how}
          options={[
            ["zero", "zero", "the head gives nothing"],
            ["uniform", "uniform", "the head looks evenly at every token it may see"],
          ]}
          onChange={(one) => setState({ settings: settings.how.to(one) })}
        />
        <button type="button" class="hs-button" disabled={off === ""} onClick={() => write("")}>
          None
        </button>
      </div>
      {error !== "" && <Trouble>{error}</Trouble>}
      <div ref={place}>
        {size.width > 0 &&
          grids.map((grid) => (
            <Switches
              key={grid.name}
              {...{ grid, heads, how, dark, toggle }}
              room={size.width}
              titled={grids.length > 1}
            />
          ))}
      </div>
      {grids.length > 0 && (
        <p class="at-about">Click heads, or the number of a layer. {heads.size > 0 ? `${heads.size} off.` : ""}</p>
      )}
    </fieldset>
  );
}

interface SwitchesProps {
  grid: Grid;
  heads: ReadonlySet<string>;
  how: How;
  dark: boolean;
  room: number;
  titled: boolean;
  toggle: (keys: readonly string[]) => void;
}

function Switches({ grid, heads, how, dark, room, titled, toggle }: SwitchesProps) {
  const [cursor, setCursor] = useState<number | null>(null);
  const count = grid.layers * grid.heads;
  const keyOf = (index: number) => headKey(grid.name, Math.floor(index / grid.heads), index % grid.heads);
  const on = rampColour("share", dark, 0.28);
  const away = how === "zero" ? rampColour("signed", dark, 0.1) : rampColour("amount", dark, 0.6);
  const colours = useMemo(
    () => Array.from({ length: count }, (_, index) => (heads.has(keyOf(index)) ? away : on)),
    [heads, count, on, away],
  );
  const bright = useMemo(() => Array<boolean>(count).fill(true), [count]);
  return (
    <>
      {titled && <p class="hp-what">{grid.name}</p>}
      <HeadGrid
        grid={grid}
        colours={colours}
        bright={bright}
        framed={new Set()}
        current={cursor}
        room={room}
        largest={24}
        label={`Heads of the ${grid.name} to switch off`}
        describe={(index) =>
          `Head ${Math.floor(index / grid.heads)}.${index % grid.heads} is ${heads.has(keyOf(index)) ? "off" : "on"}.`
        }
        onMove={setCursor}
        onChoose={(index) => {
          setCursor(index);
          toggle([keyOf(index)]);
        }}
        onLayer={(layer) => toggle(Array.from({ length: grid.heads }, (_, head) => headKey(grid.name, layer, head)))}
      />
    </>
  );
}
