/** A head's page: all that the atlas knows of it, as small charts. */

import type { HeadPage } from "../data/api";
import type { SetState, State } from "../shell/state";
import { SectionCard } from "./section";
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
      {page.card && page.card.length > 0 && (
        <ul class="hp-said" aria-label="What it does">
          {page.card.map((said) => (
            <li key={said}>{said}</li>
          ))}
        </ul>
      )}
      <Typical sentences={page.typical ?? []} />
      <div class="hp-sections">
        {page.sections?.map((section) => (
          <SectionCard key={section.key} section={section} dark={dark} scale={state.scale} setState={setState} />
        ))}
      </div>
      <Examples examples={page.examples ?? []} />
      {page.notes?.map((note) => (
        <p class="hp-about" key={note}>
          {note}
        </p>
      ))}
    </article>
  );
}
