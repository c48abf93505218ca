/** What the colours of weights mean. */
import type { Seen } from "../data/api";
import { amountOf } from "../data/source";
import { errorOf } from "../data/tokens";
import { placed, rampOf, type Scale } from "../parts/colour";
import { Switch } from "../parts/controls";
import { withinError } from "../parts/numbers";
import type { SetState } from "../shell/state";

const TICKS = { root: [0, 0.05, 0.2, 0.5, 1], linear: [0, 0.25, 0.5, 0.75, 1], max: [0, 0.25, 0.5, 0.75, 1] };
const SIGNED_TICKS = { root: [-1, -0.2, 0, 0.2, 1], linear: [-1, -0.5, 0, 0.5, 1], max: [-1, -0.5, 0, 0.5, 1] };

interface Props {
  seen: Seen;
  scale: Scale;
  setState: SetState;
  dark: boolean;
  /** The largest weight of the map; null where every map has its own. */
  largest: number | null;
}

export function Legend({ seen, scale, setState, dark, largest }: Props) {
  const signed = seen.signed ?? false;
  const top = scale === "max" ? largest : 1;
  const written = (value: number): string => withinError(value, errorOf(seen, "piece"));
  const what = amountOf(seen);
  const end = top === null ? `each map's largest ${what}` : `${what} ${written(top)}`;
  const from = signed ? `minus ${top === null ? "the same" : written(top)}` : "0";
  const left = (tick: number): number => {
    const strength = Math.sign(tick) * placed(Math.abs(tick), scale);
    return 100 * (signed ? (1 + strength) / 2 : strength);
  };
  const label = (tick: number): string => {
    if (top !== null) return written(tick * top);
    return Math.abs(tick) === 1 ? (tick < 0 ? "−max" : "max") : tick === 0 ? "0" : "";
  };
  return (
    <div class="hs-legend-part">
      <div class="hs-legend" role="img" aria-label={`Colours from ${from} to ${end}`}>
        <div class="hs-legend-bar" style={{ background: gradient(signed, dark) }} />
        {(signed ? SIGNED_TICKS : TICKS)[scale].map((tick) => (
          <span key={tick} style={{ left: `${left(tick)}%` }}>
            {label(tick)}
          </span>
        ))}
      </div>
      {signed && !seen.difference && <span class="hs-muted hs-signs">{SIGNS}</span>}
      <Switch
        label="Scale of the colours"
        value={scale}
        options={[
          ["root", "root", "a colour's strength is the weight's square root, so that small weights can be seen"],
          ["linear", "linear", "a colour's strength is the weight"],
          ["max", "to max", "a colour's strength is the weight over the map's largest weight"],
        ]}
        onChange={(changed) => setState({ scale: changed })}
      />
    </div>
  );
}

function gradient(signed: boolean, dark: boolean): string {
  return `linear-gradient(90deg, ${rampOf(signed ? "signed" : "share", dark).join(", ")})`;
}

const SIGNS = "Blue adds to what the head gives, orange works against it.";

/** What the sign of a share means. */
export function signWords(share: number): string {
  if (Number.isNaN(share)) return "the head gives nothing here";
  return share < 0 ? "works against what the head gives" : "of what the head gives";
}

/** What the two colours mean, where their strength is not read off a scale. */
export function SignedBar({ dark, seen }: { dark: boolean; seen: Seen }) {
  const [less, more] = seen.difference
    ? ["less", "more attention after the edit"]
    : ["against", "with what the head gives"];
  return (
    <p class="hs-signed">
      <span>{less}</span>
      <span class="hs-legend-bar" style={{ background: gradient(true, dark) }} />
      <span>{more}</span>
    </p>
  );
}
