/** Sentences on which a head is most like itself, and those in which it does what a probe found it to be the best at. */

import { useState } from "preact/hooks";
import type { HeadExample, TypicalSentence } from "../data/api";
import { shortened, visible } from "../data/tokens";
import { shown } from "../parts/numbers";

const LONGEST = 24;

/** The sentences on which a head is most like itself: below each word stands the one that it looks at most. */
export function Typical({ sentences }: { sentences: readonly TypicalSentence[] }) {
  const [first, ...others] = sentences;
  if (first === undefined) return null;
  return (
    <section class="hp-section hp-typical">
      <h3>Sentences where it is most typical</h3>
      <p class="hp-about">
        Below each word: what it looks at most. Deeper blue: looked at more. Point at a word, or tap it.
      </p>
      <Sentence sentence={first} />
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? "One more" : `${others.length} more`}</summary>
          {others.map((sentence, index) => (
            <Sentence key={index} sentence={sentence} />
          ))}
        </details>
      )}
    </section>
  );
}

/** How deep the colour is behind a word that gets this much; in per cent. */
function depth(amount: number, largest: number): number {
  return largest > 0 ? Math.round(58 * Math.sqrt(Math.max(0, amount) / largest)) : 0;
}

/** What the words look at: themselves, or the other text of cross attention. */
function targetsOf(sentence: TypicalSentence): readonly string[] {
  return sentence.keys ?? sentence.words;
}

/** How much each target gets from the words that look at it most. */
export function received(sentence: TypicalSentence): number[] {
  const sums = targetsOf(sentence).map(() => 0);
  sentence.looks_at.forEach((to, from) => {
    sums[to] = (sums[to] ?? 0) + (sentence.weights[from] ?? 0);
  });
  return sums;
}

function Sentence({ sentence }: { sentence: TypicalSentence }) {
  const [pointed, point] = useState<number | null>(null);
  const [held, hold] = useState<number | null>(null);
  const at = pointed ?? held;
  const targets = targetsOf(sentence);
  const special = new Set(sentence.special);
  const gets = received(sentence);
  const largest = Math.max(1, ...gets);
  const here = at === null ? undefined : sentence.looks_at[at];
  const shade = (index: number) => {
    const percent = depth(gets[index] ?? 0, largest);
    return percent > 0 ? { background: `color-mix(in srgb, var(--accent) ${percent}%, transparent)` } : undefined;
  };
  const own = sentence.keys == null;
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    const next = Math.max(0, Math.min(sentence.words.length - 1, (held ?? 0) + by));
    hold(next);
    event.preventDefault();
    event.stopPropagation();
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("button")[next]?.focus();
  };
  return (
    <div class="hp-sentence">
      <p class="hp-words" onKeyDown={step} onPointerLeave={() => point(null)}>
        {sentence.words.map((word, index) => {
          const [place, weight] = [sentence.looks_at[index] ?? 0, sentence.weights[index] ?? 0];
          return (
            <button
              type="button"
              key={index}
              class={`hp-word${index === at ? " hp-asking" : ""}${own && index === here ? " hp-target" : ""}`}
              tabIndex={index === (held ?? 0) ? 0 : -1}
              aria-pressed={index === held}
              aria-label={told(sentence, index)}
              title={fullWord(word)}
              data-looks-at={place}
              data-weight={weight}
              onPointerEnter={(event) => event.pointerType === "mouse" && point(index)}
              onFocus={() => point(index)}
              onBlur={() => point(null)}
              onClick={() => hold(held === index ? null : index)}
            >
              <bdi class={special.has(word) ? "hp-special" : undefined} style={own ? shade(index) : undefined}>
                {shortened(visible(word), LONGEST)}
              </bdi>
              <small style={{ opacity: 0.42 + 0.58 * Math.min(1, weight) }}>
                <bdi>{shortened(visible(targets[place] ?? ""), LONGEST)}</bdi>
              </small>
            </button>
          );
        })}
      </p>
      {!own && (
        <p class="hp-words hp-keys" role="group" aria-label="What is looked at">
          {targets.map((word, index) => (
            <span key={index} class={`hp-word${index === here ? " hp-target" : ""}`} title={fullWord(word)}>
              <bdi class={special.has(word) ? "hp-special" : undefined} style={shade(index)}>
                {shortened(visible(word), LONGEST)}
              </bdi>
            </span>
          ))}
        </p>
      )}
      <p class="hp-links" role="status">
        {at !== null ? (
          <b>{told(sentence, at)}</b>
        ) : (
          sentence.strongest.map((word) => (
            <span key={word} class="hp-pair">
              <bdi>{shortened(visible(sentence.words[word] ?? ""), LONGEST)}</bdi> →{" "}
              <bdi>{shortened(visible(targets[sentence.looks_at[word] ?? 0] ?? ""), LONGEST)}</bdi>{" "}
              <small>{shown(sentence.weights[word] ?? null, 2, 1)}</small>
            </span>
          ))
        )}
      </p>
      <p
        class="hp-about"
        title={`Cosine of its attention here with what it usually does: ${shown(sentence.likeness, 2, 1)}`}
      >
        {sentence.said}
      </p>
    </div>
  );
}

/** A word that is cut short, whole. */
function fullWord(word: string): string | undefined {
  return visible(word).length > LONGEST ? visible(word) : undefined;
}

function told(sentence: TypicalSentence, from: number): string {
  const to = sentence.looks_at[from] ?? 0;
  const [word, target] = [sentence.words[from] ?? "", targetsOf(sentence)[to] ?? ""];
  const where = sentence.keys == null && to === from ? "itself" : shortened(visible(target), LONGEST);
  return `${shortened(visible(word), LONGEST)} → ${where} ${shown(sentence.weights[from] ?? null, 2, 1)}`;
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
      <p class="hp-about">{example.note}</p>
    </li>
  );
}

/** Sentences in which the head does what a probe found it to be the best at. */
export function Examples({ examples }: { examples: readonly HeadExample[] }) {
  if (examples.length === 0) return null;
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
