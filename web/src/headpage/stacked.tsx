/** What names explain of heads, as stacked bars: a colour a name, grey for what has none yet. */

import { useState } from "preact/hooks";
import type { Stacked } from "../data/api";
import { headColour, kindColour } from "../parts/colour";
import { Switch } from "../parts/controls";

interface Look {
  names: readonly string[];
  dark: boolean;
}

const colourOf = (at: number, { names, dark }: Look) =>
  at === names.length - 1 ? "var(--no-data)" : at < 6 ? kindColour(at, dark) : headColour(2, dark);

export function StackedBar({ shares, ...look }: Look & { shares: readonly number[] }) {
  const said = look.names
    .map((name, at) => [name, shares[at] ?? 0] as const)
    .filter(([, share]) => share >= 0.005)
    .map(([name, share]) => `${name} ${Math.round(100 * share)}%`)
    .join(", ");
  return (
    <span class="hp-stacked" role="img" aria-label={said} title={said}>
      {shares.map((share, at) => (
        <i key={at} style={{ flexGrow: share, background: colourOf(at, look) }} />
      ))}
    </span>
  );
}

export function StackedLegend(look: Look) {
  return (
    <p class="hp-about hp-legend">
      {look.names.map((name, at) => (
        <span key={name}>
          <i style={{ background: colourOf(at, look) }} /> {name}
        </span>
      ))}
    </p>
  );
}

interface Props {
  stacked: Stacked;
  dark: boolean;
  nameOf: (index: number) => string;
  open: (index: number) => void;
}

/** A bar for every head, in the order of the model or by what is explained; a click opens the head. */
export function StackedHeads({ stacked: { title, names, heads }, dark, nameOf, open }: Props) {
  const [order, setOrder] = useState<"share" | "layer">("share");
  const [shown, setShown] = useState(false);
  const rest = (index: number) => heads[index]?.at(-1) ?? 1;
  const places = heads.map((_, index) => index);
  if (order === "share") places.sort((one, other) => rest(one) - rest(other));
  return (
    <details class="at-findings" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>{title}</summary>
      {shown && (
        <>
          <Switch
            label="Order"
            value={order}
            options={[
              ["share", "most explained first"],
              ["layer", "by layer"],
            ]}
            onChange={setOrder}
          />
          <StackedLegend {...{ names, dark }} />
          {places.map((index) => (
            <button type="button" class="hp-stacked-row" key={index} onClick={() => open(index)}>
              <span>{nameOf(index)}</span>
              <StackedBar shares={heads[index] ?? []} {...{ names, dark }} />
            </button>
          ))}
        </>
      )}
    </details>
  );
}
