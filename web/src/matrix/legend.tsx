/** What the colours of weights mean. */
import { placed, rampOf, type Scale } from "../parts/colour";
import { Switch } from "../parts/controls";
import { asNumber } from "../parts/numbers";
import type { SetState } from "../shell/state";

const TICKS = { root: [0, 0.05, 0.2, 0.5, 1], linear: [0, 0.25, 0.5, 0.75, 1], max: [0, 0.25, 0.5, 0.75, 1] };

interface Props {
  scale: Scale;
  setState: SetState;
  dark: boolean;
  /** The largest weight of the map; null where every map has its own. */
  largest: number | null;
  /** How far a weight may be off. */
  error?: number;
}

export function Legend({ scale, setState, dark, largest, error = 0 }: Props) {
  const top = scale === "max" ? largest : 1;
  const end = top === null ? "each map's largest weight" : `weight ${asNumber(top, error)}`;
  return (
    <div class="hs-legend-part">
      <div class="hs-legend" role="img" aria-label={`Colours from weight 0 to ${end}`}>
        <div
          class="hs-legend-bar"
          style={{ background: `linear-gradient(90deg, ${rampOf("share", dark).join(", ")})` }}
        />
        {TICKS[scale].map((tick) => (
          <span key={tick} style={{ left: `${placed(tick, scale) * 100}%` }}>
            {top === null
              ? tick === 0
                ? "0"
                : tick === 1
                  ? "max"
                  : ""
              : top === 1
                ? tick
                : asNumber(tick * top, error)}
          </span>
        ))}
      </div>
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
