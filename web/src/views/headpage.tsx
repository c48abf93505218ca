/** A head's page: all that the atlas knows of it, as small charts. */

import type {
  AblationEffect,
  Comparison,
  DistanceFeature,
  HeadExample,
  HeadPage,
  NearHead,
  RelationScore,
  RoleShare,
} from "../api";
import type { SetState, State } from "../state";
import { type Bar, Bars, type Column, Columns, Profile } from "./headpagecharts";
import { Explanation } from "./headpageexplanation";
import { shown } from "./headfilter";
import { ExamplePicture } from "./headpagemap";
import "./headpage.css";

const MOST_RELATIONS = 8;

function Section({ title, about, children }: { title: string; about?: string; children: preact.ComponentChildren }) {
  return (
    <section class="hp-section">
      <h3>{title}</h3>
      {children}
      {about && <p class="hp-about">{about}</p>}
    </section>
  );
}

/** Windows of distance (w00, or "0 to 6.25% of the text away") apart from the other features, each in its order. */
export function splitFeatures(features: readonly DistanceFeature[]): {
  windows: DistanceFeature[];
  others: DistanceFeature[];
} {
  const isWindow = ({ feature }: DistanceFeature) => /^w\d+$|of the text away$/.test(feature);
  return { windows: features.filter(isWindow), others: features.filter((feature) => !isWindow(feature)) };
}

/** `known`: what another chart shows already. */
function Distances({ features, known }: { features: readonly DistanceFeature[]; known: ReadonlySet<string> }) {
  const { windows, others: all } = splitFeatures(features);
  const others = all.filter(({ feature }) => !known.has(feature));
  const columns = windows.map(({ feature, value, uniform }): Column => ({
    label: feature,
    value,
    mark: uniform ?? null,
  }));
  return (
    <Section title="How far it looks" about="The tick is what even attention would give.">
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

/** The relations a head does best at, by how far it is above the simple rule. */
export function bestRelations(relations: readonly RelationScore[], most: number): RelationScore[] {
  const lead = ({ accuracy, baseline }: RelationScore) => (accuracy ?? 0) - (baseline ?? 0);
  return relations
    .filter(({ accuracy }) => accuracy !== null)
    .sort((a, b) => lead(b) - lead(a))
    .slice(0, most);
}

function Relations({ relations }: { relations: readonly RelationScore[] }) {
  const kinds = [...new Set(relations.map(({ what }) => what))];
  return (
    <Section
      title="Relations it finds"
      about="Those where it is furthest above the best simple rule, which is the tick."
    >
      {kinds.map((what) => (
        <div key={what}>
          {what && <p class="hp-what">{what}</p>}
          <Bars
            range={[0, 1]}
            bars={bestRelations(
              relations.filter((one) => one.what === what),
              MOST_RELATIONS,
            ).map((one): Bar => ({
              label: one.direction ? `${one.relation}, ${one.direction}` : one.relation,
              value: one.accuracy,
              low: one.low ?? null,
              high: one.high ?? null,
              mark: one.baseline ?? null,
              markName: one.baseline_name || "simple rule",
              note: [one.probe, one.cases == null ? "" : `${one.cases} cases`].filter(Boolean).join(", "),
            }))}
          />
        </div>
      ))}
    </Section>
  );
}

function Ablation({ effects }: { effects: readonly AblationEffect[] }) {
  const groups = new Map<string, AblationEffect[]>();
  for (const effect of effects) {
    const name = [effect.data, effect.edit, effect.unit].filter(Boolean).join(" · ");
    groups.set(name, [...(groups.get(name) ?? []), effect]);
  }
  return (
    <Section
      title="When it is switched off"
      about="Change of the task's score with its interval; orange is worse, and pale bars may well be nothing."
    >
      {[...groups].map(([name, members]) => (
        <div key={name}>
          {name && <p class="hp-what">{name}</p>}
          <Bars
            bars={members.map(({ metric, change, low, high, significant, higher_is_better }): Bar => ({
              label: higher_is_better === false ? `${metric} (lower is better)` : metric,
              value: change,
              low: low ?? null,
              high: high ?? null,
              sure: significant ?? null,
              note: significant == null ? "" : significant ? "significant" : "not significant",
              isWorse: higher_is_better === false ? (change ?? 0) > 0 : (change ?? 0) < 0,
            }))}
          />
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

function Comparisons({ found }: { found: readonly Comparison[] }) {
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

/** How strong a word's highlight is: 0 to 1, small weights still visible. */
export function highlight(weight: number, largest: number): number {
  return largest > 0 ? Math.sqrt(Math.max(0, weight) / largest) : 0;
}

function Example({ example }: { example: HeadExample }) {
  const largest = Math.max(0, ...(example.weights ?? []));
  const [asking, ...wanted] = example.marks;
  const role = (index: number) => (index === asking ? "hp-asking" : wanted.includes(index) ? "hp-wanted" : undefined);
  return (
    <li class="hp-example">
      <p dir="auto">
        {example.words.length === 0
          ? example.text
          : example.words.map((word, index) => {
              const weight = example.weights?.[index] ?? null;
              const strength = weight === null ? 0 : Math.round(60 * highlight(weight, largest));
              return (
                <>
                  <span
                    key={index}
                    class={role(index)}
                    style={
                      strength > 0
                        ? { background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }
                        : undefined
                    }
                    title={
                      `${word.length > 40 ? word : ""}${weight === null ? "" : ` ${shown(weight)}`}`.trim() || undefined
                    }
                    data-weight={weight}
                  >
                    {word.length > 40 ? `${[...word].slice(0, 39).join("")}…` : word}
                  </span>{" "}
                </>
              );
            })}
      </p>
      {example.note && <p class="hp-about">{example.note}</p>}
    </li>
  );
}

export interface HeadCardProps {
  page: HeadPage;
  dark: boolean;
  state: State;
  setState: SetState;
  /** Views of the current text in which this head can be looked at. */
  views: { name: string; title: string }[];
}

export function HeadCard({ page, dark, state, setState, views }: HeadCardProps) {
  return (
    <article class="hp-card" aria-label={`Head ${page.layer}.${page.head}`}>
      <header class="hp-head">
        <h2>
          Head {page.layer}.{page.head}
        </h2>
        <span class="hp-stack">{page.stack}</span>
        {page.kind && <span class="hp-kind">{page.kind}</span>}
        {views.map(({ name, title }) => (
          <button
            type="button"
            class="hp-link"
            key={name}
            onClick={() => setState({ view: name, stack: page.stack, layer: page.layer, heads: [page.head] })}
          >
            {title}
          </button>
        ))}
      </header>
      <div class="hp-sections">
        {page.profile.length > 0 && (
          <Section title="Attention by offset">
            <Profile points={page.profile} />
          </Section>
        )}
        {page.example_map && (
          <Section title="On one text of the corpus" about="Queries down, keys across; the same text for all heads.">
            <ExamplePicture map={page.example_map} dark={dark} scale={state.scale} />
          </Section>
        )}
        {page.distances.length > 0 && (
          <Distances features={page.distances} known={new Set(page.roles.map(({ role }) => role))} />
        )}
        <Shares title="What it looks at" shares={page.roles} />
        <Shares title="Habits" shares={page.habits ?? []} />
        <Patterns shares={Object.entries(page.pattern ?? {})} />
        {page.relations.length > 0 && <Relations relations={page.relations} />}
        {page.ablation.length > 0 && <Ablation effects={page.ablation} />}
        {page.compare.length > 0 && <Comparisons found={page.compare} />}
        {page.nearest.length > 0 && <Nearest heads={page.nearest} setState={setState} />}
        {page.explanation && <Explanation found={page.explanation} />}
        {page.examples.length > 0 && <Examples examples={page.examples} />}
      </div>
      {isEmpty(page) && <p>The atlas knows nothing more of this head.</p>}
    </article>
  );
}

function Shares({ title, shares }: { title: string; shares: readonly RoleShare[] }) {
  if (shares.length === 0) return null;
  const compared = shares.some(({ uniform }) => uniform != null);
  return (
    <Section title={title} about={compared ? "The tick is what even attention would give." : ""}>
      <Bars bars={shares.map(withError)} />
    </Section>
  );
}

function Patterns({ shares }: { shares: [string, number][] }) {
  if (shares.length === 0) return null;
  const bars = shares.map(([label, value]) => ({ label, value })).sort((a, b) => b.value - a.value);
  return (
    <Section title="Patterns of its maps" about="Share of texts.">
      <Bars bars={bars} range={[0, 1]} />
    </Section>
  );
}

function Nearest({ heads, setState }: { heads: readonly NearHead[]; setState: SetState }) {
  const open = (name: string) => {
    const found = /(\d+)\.(\d+)$/.exec(name);
    if (found) setState({ layer: Number(found[1]), heads: [Number(found[2])] });
  };
  return (
    <Section title="Heads most like it" about="Distance in brackets: 0 is the same attention everywhere.">
      <p class="hp-near">
        {heads.map(({ head, distance }, rank) => (
          <button type="button" class="hp-link" key={rank} onClick={() => open(head)}>
            {head} <small>({shown(distance)})</small>
          </button>
        ))}
      </p>
    </Section>
  );
}

function Examples({ examples }: { examples: readonly HeadExample[] }) {
  return (
    <section class="hp-section hp-wide">
      <h3>In sentences of the corpus</h3>
      <p class="hp-about">
        The framed word asks; the deeper the blue, the more attention a word gets; underlined words would be right.
      </p>
      <ul class="hp-examples">
        {examples.map((example, index) => (
          <Example key={index} example={example} />
        ))}
      </ul>
    </section>
  );
}

function withError({ role, value, stderr, uniform }: RoleShare): Bar {
  const known = value !== null && stderr != null;
  return {
    label: role,
    value,
    low: known ? value - stderr : null,
    high: known ? value + stderr : null,
    mark: uniform ?? null,
    markName: "even attention",
  };
}

function isEmpty(page: HeadPage): boolean {
  const lists = [
    page.profile,
    page.distances,
    page.roles,
    page.nearest,
    page.relations,
    page.ablation,
    page.compare,
    page.examples,
  ];
  return lists.every((list) => list.length === 0) && !page.pattern && !page.explanation && !page.example_map;
}
