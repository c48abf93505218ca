/** Where a head looks: how far, at what, in which patterns, and which heads do alike. */

import { shown } from "../atlas/filter";
import type { DistanceFeature, NearHead, RoleShare } from "../data/api";
import type { SetState } from "../shell/state";
import { around, type Bar, Bars, type Column, Columns } from "./charts";
import { Section } from "./section";

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
export function shareBar({ role, value, stderr, uniform }: RoleShare): Bar {
  return { label: role, value, ...around(value, stderr), mark: uniform ?? null, markName: "even attention" };
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
