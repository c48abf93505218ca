/** A head's page: all that the atlas knows of it, as small charts. */

import type { HeadPage } from "../data/api";
import type { Source } from "../data/source";
import type { SetState, State } from "../shell/state";
import { Strength } from "./charts";
import { SectionCard } from "./section";
import { Examples, Typical } from "./sentences";
import { SwitchOff } from "./switchoff";
import "./headpage.css";

export interface HeadCardProps {
  page: HeadPage;
  dark: boolean;
  state: State;
  setState: SetState;
  /** The model that the head is of. */
  model: string;
  /** What opens the atlas with its model in the explorer. */
  command: string;
  source: Source;
  /** Views of a text in which this head can be looked at. */
  views: { name: string; title: string }[];
  /** Whether there are heads of this name in other stacks. */
  several: boolean;
  /** To all heads, where the page stands below them. */
  back: () => void;
}

export function HeadCard(given: HeadCardProps) {
  const { page, dark, state, setState, model, command, source, views, several, back } = given;
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
        <ul class="hp-card-lines" aria-label="What it does">
          {page.card.map(({ text, bar }) => (
            <li key={text}>
              <span>{text}</span>
              {bar && <Strength bar={bar} />}
            </li>
          ))}
        </ul>
      )}
      <SwitchOff {...{ page, model, command, source, setState }} />
      <Examples title="At work" examples={page.at_work ?? []} />
      <Typical sentences={page.typical ?? []} {...{ state, setState }} />
      <div class="hp-sections">
        {page.sections?.map((section) => (
          <SectionCard key={section.key} section={section} dark={dark} scale={state.scale} setState={setState} />
        ))}
      </div>
      <Examples
        title="Where it finds relations"
        about="The framed word is the one that is asked about. Green: right; orange: wrong; underlined: the right word."
        examples={page.examples ?? []}
      />
      {page.notes?.map((note) => (
        <p class="hp-about" key={note}>
          {note}
        </p>
      ))}
    </article>
  );
}
