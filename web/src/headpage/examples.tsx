/** Sentences in which the head does what a probe found it to be the best at. */

import { shown } from "../atlas/filter";
import type { HeadExample } from "../data/api";
import { shortened, visible } from "../data/tokens";

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
                      `${word.length > 40 ? visible(word) : ""}${weight === null ? "" : ` ${shown(weight, 3, 1)}`}`.trim() ||
                      undefined
                    }
                    data-weight={weight}
                  >
                    {shortened(visible(word), 40)}
                  </span>{" "}
                </>
              );
            })}
      </p>
      <p class="hp-about">
        {example.looked_at ? `${example.note}. Blue: the attention that words give the framed one.` : example.note}
      </p>
    </li>
  );
}

export function Examples({ examples }: { examples: readonly HeadExample[] }) {
  return (
    <section class="hp-section hp-wide">
      <h3>Where it finds relations</h3>
      <p class="hp-about">
        The framed word asks; the deeper the blue, the more of its attention a word gets, unless said below; underlined
        words would be right.
      </p>
      <ul class="hp-examples">
        {examples.map((example, index) => (
          <Example key={index} example={example} />
        ))}
      </ul>
    </section>
  );
}
