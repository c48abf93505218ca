/** A head's page: all that the atlas knows of it, as small charts. */

import type { HeadPage } from "../data/api";
import type { SetState, State } from "../shell/state";
import { Distances, ExamplePicture, Nearest, Patterns, Shares } from "./attention";
import { Profile, Section } from "./charts";
import { Explanation } from "./explanation";
import { Ablation, Comparisons, Relations } from "./results";
import { Examples, Typical } from "./sentences";
import "./headpage.css";

export interface HeadCardProps {
  page: HeadPage;
  dark: boolean;
  state: State;
  setState: SetState;
  /** The model that the head is of. */
  model: string;
  /** Views of a text in which this head can be looked at. */
  views: { name: string; title: string }[];
  /** Whether there are heads of this name in other stacks. */
  several: boolean;
  /** To all heads, where the page stands below them. */
  back: () => void;
}

export function HeadCard({ page, dark, state, setState, model, views, several, back }: HeadCardProps) {
  return (
    <article class="hp-card" aria-label={`Head ${page.layer}.${page.head}`}>
      <header class="hp-head">
        <h2>
          Head {page.layer}.{page.head}
        </h2>
        {several && <span class="hp-stack">{page.stack}</span>}
        {page.kind && <span class="hp-kind">{page.kind}</span>}
        {views.map(({ name, title }) => (
          <button
            type="button"
            class="hp-link"
            key={name}
            onClick={() =>
              setState({ view: name, model, token: null, stack: page.stack, layer: page.layer, heads: [page.head] })
            }
          >
            {title}
          </button>
        ))}
        <button type="button" class="hp-link hp-back" onClick={back}>
          ↑ all heads
        </button>
      </header>
      <Typical page={page} />
      <div class="hp-sections">
        {page.profile.length > 0 && (
          <Section title="Attention by offset">
            <Profile points={page.profile} />
          </Section>
        )}
        <Shares title="What it looks at" shares={page.roles} />
        <Relations page={page} />
        {page.ablation.length > 0 && <Ablation effects={page.ablation} />}
        {page.explanation && <Explanation found={page.explanation} />}
        {page.nearest.length > 0 && <Nearest heads={page.nearest} setState={setState} />}
        {page.example_map && (
          <Section title="On one text of the corpus" about="Queries down, keys across; the same text for all heads.">
            <ExamplePicture map={page.example_map} dark={dark} scale={state.scale} />
          </Section>
        )}
        {page.distances.length > 0 && (
          <Distances features={page.distances} known={new Set(page.roles.map(({ role }) => role))} />
        )}
        <Shares title="Habits" shares={page.habits ?? []} />
        <Patterns shares={Object.entries(page.pattern ?? {})} />
        {page.compare.length > 0 && <Comparisons found={page.compare} />}
      </div>
      {page.examples.length > 0 && <Examples examples={page.examples} />}
      {isEmpty(page) ? (
        <p>The atlas knows nothing more of this head.</p>
      ) : (
        <p class="hp-about hp-intervals">
          Lines across bars and columns are 95 % intervals: 1.96 standard errors to each side, unless a chart says
          otherwise.
        </p>
      )}
    </article>
  );
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
