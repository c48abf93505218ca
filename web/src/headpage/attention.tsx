/** Where a head looks: how far, at what, in which patterns, on one text, and which heads do alike. */

import { useEffect, useRef } from "preact/hooks";
import type { DistanceFeature, ExampleMap, NearHead, RoleShare } from "../data/api";
import { prepare } from "../parts/canvas";
import { placed, rampColour, type Scale } from "../parts/colour";
import { shown } from "../parts/numbers";
import type { SetState } from "../shell/state";
import { type Bar, Bars, type Column, Columns, Section } from "./charts";

const EVEN = "The tick is what even attention would give.";

/** Windows of distance (w00, or "0 to 6.25% of the text away") apart from the other features, each in its order. */
export function splitFeatures(features: readonly DistanceFeature[]): {
  windows: DistanceFeature[];
  others: DistanceFeature[];
} {
  const isWindow = ({ feature }: DistanceFeature) => /^w\d+$|of the text away$/.test(feature);
  return { windows: features.filter(isWindow), others: features.filter((feature) => !isWindow(feature)) };
}

/** `known`: what another chart shows already. */
export function Distances({ features, known }: { features: readonly DistanceFeature[]; known: ReadonlySet<string> }) {
  const { windows, others: all } = splitFeatures(features);
  const others = all.filter(({ feature }) => !known.has(feature));
  const columns = windows.map(
    ({ feature, value, uniform }): Column => ({
      label: feature,
      value,
      mark: uniform ?? null,
    }),
  );
  return (
    <Section title="How far it looks" about={EVEN}>
      {columns.length > 0 && (
        <Columns
          columns={columns}
          caption="near – distance, in shares of the text's length – far"
          name="How far it looks"
        />
      )}
      {others.length > 0 && (
        <Bars
          bars={others.map(({ feature, value, uniform }) => ({
            label: feature,
            value,
            mark: uniform ?? null,
            markName: "even attention",
          }))}
        />
      )}
    </Section>
  );
}

/** A share of attention beside what even attention would give. */
export function shareBar({ role, value, low, high, uniform }: RoleShare): Bar {
  return { label: role, value, low, high, mark: uniform ?? null, markName: "even attention" };
}

export function Shares({ title, shares }: { title: string; shares: readonly RoleShare[] }) {
  if (shares.length === 0) return null;
  const compared = shares.some(({ uniform }) => uniform != null);
  return (
    <Section title={title} about={compared ? EVEN : ""}>
      <Bars bars={shares.map(shareBar)} />
    </Section>
  );
}

export function Patterns({ shares }: { shares: [string, number][] }) {
  if (shares.length === 0) return null;
  const bars = shares.map(([label, value]) => ({ label, value })).sort((a, b) => b.value - a.value);
  return (
    <Section title="Patterns of its maps" about="Share of texts.">
      <Bars bars={bars} range={[0, 1]} />
    </Section>
  );
}

export function Nearest({ heads, setState }: { heads: readonly NearHead[]; setState: SetState }) {
  const open = (name: string) => {
    const found = /(\d+)\.(\d+)$/.exec(name);
    if (found) setState({ layer: Number(found[1]), heads: [Number(found[2])] });
  };
  return (
    <Section title="Heads most like it" about="Distance in brackets: 0 is the same attention everywhere.">
      <p class="hp-near">
        {heads.map(({ head, distance }, rank) => (
          <button type="button" class="hp-link" key={rank} onClick={() => open(head)}>
            {head} <small>({shown(distance, 3, 1)})</small>
          </button>
        ))}
      </p>
    </Section>
  );
}

const WIDE = 180;

/** The head's attention on one text of the corpus, as a small picture. */
export function ExamplePicture({ map, dark, scale }: { map: ExampleMap; dark: boolean; scale: Scale }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = map.cells.length;
  const columns = map.cells[0]?.length ?? 0;
  const tall = columns > 0 ? Math.round(Math.min(320, (WIDE * rows) / columns)) : 0;
  useEffect(() => {
    if (canvas.current === null || columns === 0) return;
    const context = prepare(canvas.current, WIDE, tall);
    map.cells.forEach((row, down) => {
      row.forEach((weight, across) => {
        if (weight === null) return;
        context.fillStyle = rampColour("share", dark, placed(weight, scale === "max" ? "root" : scale));
        const [left, top] = [Math.floor((across * WIDE) / columns), Math.floor((down * tall) / rows)];
        context.fillRect(
          left,
          top,
          Math.floor(((across + 1) * WIDE) / columns) - left,
          Math.floor(((down + 1) * tall) / rows) - top,
        );
      });
    });
  }, [map, dark, scale]);
  const size = map.queries === null || map.keys === null ? "" : `, ${map.queries} x ${map.keys} tokens`;
  return columns === 0 ? null : (
    <canvas ref={canvas} class="hp-map" role="img" aria-label={`Attention on one text${size}`} />
  );
}
