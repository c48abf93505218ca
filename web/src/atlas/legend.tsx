/** What the colours stand for, and the filter over values: the two sit together because both read off the same scale. */

import type { Colouring } from "../data/api";
import { kindColour, rampOf } from "../parts/colour";
import { largestOf, shown } from "../parts/numbers";
import { type AtlasLook, rampName } from "./data";
import { extent, KEEP_ALL, type Kept, spread } from "./filter";

interface Props {
  look: AtlasLook;
  dark: boolean;
  /** The head under the pointer. */
  hovered: number | null;
  setPick: (pick: Kept) => void;
  setStretched: (stretched: boolean) => void;
}

export function Legend(props: Props) {
  const { colouring } = props.look;
  if (colouring === null) return null;
  return colouring.kind === "category" ? (
    <Categories {...props} colouring={colouring} />
  ) : (
    <Numbers {...props} colouring={colouring} />
  );
}

type Given = Props & { colouring: Colouring };

function Categories({ look, dark, setPick, colouring }: Given) {
  const counts = (colouring.labels ?? []).map((_, index) => colouring.values.filter((value) => value === index).length);
  const missing = colouring.values.filter((value) => value === null).length;
  const chosen = look.pick.how === "is" ? look.pick.label : null;
  return (
    <div class="at-legend" role="group" aria-label="Kinds: click one to keep only its heads">
      {(colouring.labels ?? []).map((label, index) => (
        <button
          type="button"
          key={label}
          class="at-kind"
          aria-pressed={chosen === label}
          disabled={counts[index] === 0}
          onClick={() => setPick(chosen === label ? KEEP_ALL : { how: "is", label })}
        >
          <svg width="12" height="12" aria-hidden="true">
            <rect width="12" height="12" rx="2" fill={kindColour(index, dark)} />
          </svg>
          {label} <span class="at-count">{counts[index]}</span>
        </button>
      ))}
      {missing > 0 && (
        <span class="at-kind at-missing">
          no value <span class="at-count">{missing}</span>
        </span>
      )}
    </div>
  );
}

function Numbers({ look, dark, hovered, setPick, setStretched, colouring }: Given) {
  return (
    <div class="at-legend">
      <Scale {...{ look, dark, colouring }} value={hovered === null ? null : (colouring.values[hovered] ?? null)} />
      <Threshold {...{ look, colouring, setPick }} />
      {!colouring.diverging && (
        <label class="at-filter" title="Scale the colours to the values shown instead of starting at 0">
          <input
            type="checkbox"
            checked={look.stretched}
            onChange={(event) => setStretched(event.currentTarget.checked)}
          />{" "}
          stretch
        </label>
      )}
    </div>
  );
}

/** The ramp, with the span of the values below it, the threshold, and the value of the head pointed at. */
export function Scale({
  look,
  dark,
  colouring,
  value,
}: Pick<Given, "look" | "dark" | "colouring"> & { value: number | null }) {
  const [low, high] = extent(colouring, look.stretched);
  const found = spread(colouring);
  const steps = rampOf(rampName(colouring), dark);
  const place = (at: number) => `${(100 * (at - low)) / (high - low || 1)}%`;
  const limit = "value" in look.pick ? look.pick.value : null;
  const unit = colouring.unit === "1" ? "" : colouring.unit;
  const say = (number: number) => shown(number, 3, largestOf(found ?? []));
  const between = found ? `heads: ${say(found[0])} to ${say(found[1])}` : "";
  return (
    <div class="at-scale" role="img" aria-label={`Colours from ${shown(low)} to ${shown(high)} ${unit}; ${between}`}>
      <svg width="100%" height="22" aria-hidden="true">
        {steps.map((colour, index) => (
          <rect
            key={index}
            x={`${(100 * index) / steps.length}%`}
            width={`${100 / steps.length + 0.3}%`}
            y="6"
            height="10"
            fill={colour}
          />
        ))}
        {found && <line class="at-span" x1={place(found[0])} x2={place(found[1])} y1="19" y2="19" />}
        {limit !== null && <line class="at-limit" x1={place(limit)} x2={place(limit)} y1="3" y2="22" />}
        {value !== null && <line class="at-here" x1={place(value)} x2={place(value)} y1="0" y2="18" />}
      </svg>
      <div class="at-ends">
        <span>{shown(low)}</span>
        <span class="at-unit">{[unit, between].filter(Boolean).join(" · ")}</span>
        <span>{shown(high)}</span>
      </div>
    </div>
  );
}

/** Which heads stay: all, or those from or up to a value. */
function Threshold({ look: { pick }, colouring, setPick }: Pick<Given, "look" | "colouring" | "setPick">) {
  const [low, high] = spread(colouring) ?? extent(colouring);
  const limit = "value" in pick ? pick : null;
  const begin = (how: string) =>
    setPick(how === "above" || how === "below" ? { how, value: limit?.value ?? rounded((low + high) / 2) } : KEEP_ALL);
  const move = (value: number) => limit && Number.isFinite(value) && setPick({ how: limit.how, value });
  return (
    <>
      <select
        aria-label="Which heads stay"
        value={limit?.how ?? "all"}
        onChange={(event) => begin(event.currentTarget.value)}
      >
        <option value="all">all heads</option>
        <option value="above">heads from</option>
        <option value="below">heads up to</option>
      </select>
      {limit && (
        <span class="at-filter">
          <input
            type="number"
            step="any"
            aria-label="Threshold"
            value={limit.value}
            onInput={(event) => move(event.currentTarget.valueAsNumber)}
          />
          <input
            type="range"
            class="at-slider"
            aria-label="Threshold as a slider"
            min={low}
            max={high}
            step={(high - low) / 200 || "any"}
            value={limit.value}
            onInput={(event) => move(rounded(event.currentTarget.valueAsNumber))}
          />
        </span>
      )}
    </>
  );
}

/** Four digits are enough for a threshold, and keep links short. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
