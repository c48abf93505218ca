/** How a head differs from the same head of another model. */

import type { Comparison } from "../data/api";
import { type Bar, Bars } from "./charts";
import { Section } from "./section";

/** Comparisons with one other model: what is told in words, what says how alike, and what has changed. */
export function compareGroups(
  found: readonly Comparison[],
): { other: string; told: string[]; alike: Bar[]; changed: Bar[] }[] {
  return [...new Set(found.map(({ other }) => other))].map((other) => {
    const own = found.filter((one) => one.other === other);
    const valued = own.filter(({ value }) => value !== null);
    const isChange = ({ what }: Comparison) => /^change\b/i.test(what);
    const bar = ({ what, value, low, high }: Comparison): Bar => ({
      label: what.replace(/^change from [^:]*: /i, ""),
      value,
      low: low ?? null,
      high: high ?? null,
    });
    return {
      other,
      told: own.filter(({ value }) => value === null).map(({ what }) => what),
      alike: valued.filter((one) => !isChange(one)).map(bar),
      changed: valued.filter(isChange).map(bar),
    };
  });
}

export function Comparisons({ found }: { found: readonly Comparison[] }) {
  return (
    <>
      {compareGroups(found).map(({ other, told, alike, changed }) => (
        <Section key={other} title={`Beside ${other || "another model"}`}>
          {told.map((line) => (
            <p class="hp-what" key={line}>
              {line}
            </p>
          ))}
          <Bars bars={alike} />
          {changed.length > 0 && <p class="hp-what">change</p>}
          <Bars bars={changed} />
        </Section>
      ))}
    </>
  );
}
