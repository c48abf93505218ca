/** What the colours of weights mean. */
import { placed, rampOf, type Scale } from "../parts/colour";
import { Switch } from "../parts/controls";
import type { SetState } from "../shell/state";

const TICKS = { root: [0, 0.05, 0.2, 0.5, 1], linear: [0, 0.25, 0.5, 0.75, 1] };

interface Props {
  scale: Scale;
  setState: SetState;
  dark: boolean;
}

export function Legend({ scale, setState, dark }: Props) {
  return (
    <div class="hs-legend-part">
      <div class="hs-legend" role="img" aria-label="Colours from weight 0 to weight 1">
        <div
          class="hs-legend-bar"
          style={{ background: `linear-gradient(90deg, ${rampOf("share", dark).join(", ")})` }}
        />
        {TICKS[scale].map((tick) => (
          <span key={tick} style={{ left: `${placed(tick, scale) * 100}%` }}>
            {tick}
          </span>
        ))}
      </div>
      <Switch
        label="Scale of the colours"
        value={scale}
        options={[
          ["root", "root", "a colour's strength is the weight's square root, so that small weights can be seen"],
          ["linear", "linear", "a colour's strength is the weight"],
        ]}
        onChange={(changed) => setState({ scale: changed })}
      />
    </div>
  );
}
