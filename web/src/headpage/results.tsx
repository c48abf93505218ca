/** What a head finds, what a task loses without it, and how it differs from the same head of another model. */

import type { AblationEffect, Comparison, HeadPage, RelationScore } from "../data/api";
import { type Bar, Bars, Section } from "./charts";

const MOST_RELATIONS = 8;

/** Whether it is not clearly above the rules; where no rule is known there is none to be above. */
function isUnsure({ verdict, baseline }: RelationScore): boolean {
  return verdict !== "above" && baseline !== null;
}

function relationBar(one: RelationScore): Bar {
  return {
    label: one.direction ? `${one.relation}, ${one.direction}` : one.relation,
    value: one.accuracy,
    low: one.low ?? null,
    high: one.high ?? null,
    mark: one.baseline ?? null,
    markName: one.baseline_name || "simple rule",
    sure: !isUnsure(one),
    note: [
      one.probe,
      one.cases == null ? "" : `${one.cases} cases`,
      !isUnsure(one) ? "" : "not clearly above the simple rules",
    ]
      .filter(Boolean)
      .join(", "),
  };
}

export function Relations({ page }: { page: Pick<HeadPage, "relations" | "relations_tested"> }) {
  const found = page.relations;
  const tested = page.relations_tested;
  if (tested === 0) return null;
  if (found.length === 0)
    return (
      <Section title="Relations it finds">
        <p class="hp-said">{`None above a simple rule, of ${tested} tested.`}</p>
      </Section>
    );
  const kinds = [...new Set(found.map(({ what }) => what))];
  const unsure = found.some(isUnsure);
  return (
    <Section
      title="Relations it finds"
      about={`Above the best simple rule, which is the tick${unsure ? "; pale where the head is not clearly above all rules: its interval reaches theirs" : ""}. Over all cases; findings score the head that was chosen on one half of them on the other.`}
    >
      {kinds.map((what) => (
        <div key={what}>
          {what && <p class="hp-what">{what}</p>}
          <Bars
            range={[0, 1]}
            bars={found
              .filter((one) => one.what === what)
              .slice(0, MOST_RELATIONS)
              .map(relationBar)}
          />
        </div>
      ))}
    </Section>
  );
}

/** What pale bars are, in words; nothing where there are none. */
export function paleWords(effects: readonly AblationEffect[]): string {
  if (!effects.some(({ significant }) => significant === false)) return "";
  if (effects.every(({ corrected }) => corrected === false)) return "Pale: not significant (p ≥ 0.05, not corrected).";
  const edits = Math.max(0, ...effects.map(({ edits }) => edits ?? 0));
  const all = edits > 1 ? `all ${edits} edits are allowed for` : "all edits are allowed for";
  const hopeless = effects
    .filter(({ significant }) => significant === false)
    .every(({ possible }) => possible === false);
  return hopeless
    ? `The texts are too few for any edit to be significant once ${all}; bars are pale for that.`
    : `Pale: not significant once ${all}.`;
}

function effectBar({ metric, change, low, high, significant, higher_is_better }: AblationEffect): Bar {
  return {
    label: higher_is_better === false ? `${metric} (lower is better)` : metric,
    value: change,
    low: low ?? null,
    high: high ?? null,
    sure: significant ?? null,
    note: significant == null ? "" : significant ? "significant" : "not significant",
    isWorse: higher_is_better === false ? (change ?? 0) > 0 : (change ?? 0) < 0,
  };
}

export function Ablation({ effects }: { effects: readonly AblationEffect[] }) {
  const groups = new Map<string, AblationEffect[]>();
  for (const effect of effects) {
    const name = [effect.data, effect.edit, effect.unit].filter(Boolean).join(" · ");
    groups.set(name, [...(groups.get(name) ?? []), effect]);
  }
  return (
    <Section
      title="When it is switched off"
      about={[
        "Change of the task's score with its 95 % interval, by the test of the sweep; orange is worse.",
        paleWords(effects),
      ]
        .filter(Boolean)
        .join(" ")}
    >
      {[...groups].map(([name, members]) => (
        <div key={name}>
          {name && <p class="hp-what">{name}</p>}
          <Bars bars={members.map(effectBar)} />
        </div>
      ))}
    </Section>
  );
}

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

/** How a head differs from the same head of another model. */
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
