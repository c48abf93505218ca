/** Sentences on which a head is most like itself, and those in which it does what a probe found it to be the best at. */

import { useMemo, useState } from "preact/hooks";
import type { HeadExample, TypicalSentence } from "../data/api";
import { shortened, visible } from "../data/tokens";
import { Switch } from "../parts/controls";
import { shown } from "../parts/numbers";
import type { SetState, State } from "../shell/state";
import { WEIGH_WORDS, weigh } from "../shell/weigh";
import { Arcs, type Link } from "./arcs";

const LONGEST = 24;

interface TypicalProps {
  sentences: readonly TypicalSentence[];
  state: State;
  setState: SetState;
}

/** The sentences on which a head is most like itself: an arc leads from each word to the one that it looks at most. */
export function Typical({ sentences, state, setState }: TypicalProps) {
  const isMoved = weigh.of(state) === "moved" && sentences.every(({ moved }) => moved);
  const [first, ...others] = isMoved ? sentences.map((each) => ({ ...each, ...each.moved })) : sentences;
  if (first === undefined) return null;
  return (
    <section class="hp-section hp-typical">
      <h3>Sentences where it is most typical</h3>
      {first.moved && (
        <Switch
          label="Where the head looks, or what it moves"
          value={isMoved ? "moved" : "looked"}
          options={WEIGH_WORDS.slice(0, 2)}
          onChange={(wanted) => setState({ settings: weigh.to(wanted) })}
        />
      )}
      <p class="hp-about">
        An arc leads from each word to the word it {isMoved ? "takes most from" : "looks at most"}. Point at a word, or
        tap it.
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
  const links = useMemo(
    () => sentence.looks_at.map((to, from): Link => ({ from, to, weight: sentence.weights[from] ?? 0 })),
    [sentence],
  );
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
      <Arcs
        links={links}
        at={at}
        label={`${sentence.strongest.map((word) => told(sentence, word)).join("; ")}; ${sentence.said}`}
      >
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
                data-word={index}
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
              </button>
            );
          })}
        </p>
        {!own && (
          <p class="hp-words hp-keys" role="group" aria-label="What is looked at">
            {targets.map((word, index) => (
              <span
                key={index}
                class={`hp-word${index === here ? " hp-target" : ""}`}
                title={fullWord(word)}
                data-key={index}
              >
                <bdi class={special.has(word) ? "hp-special" : undefined} style={shade(index)}>
                  {shortened(visible(word), LONGEST)}
                </bdi>
              </span>
            ))}
          </p>
        )}
      </Arcs>
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

/** From the word that asks to all others, or the other way round. */
export function linksOf({ marks, weights, guess, is_right, is_looked_at }: HeadExample): Link[] {
  const asking = marks[0];
  if (asking === undefined) return [];
  return (weights ?? []).flatMap((weight, word): Link[] => {
    if (word === asking) return [];
    const ends = is_looked_at ? { from: word, to: asking } : { from: asking, to: word };
    return [word === guess ? { ...ends, weight, verdict: is_right ? "right" : "wrong" } : { ...ends, weight }];
  });
}

const WRITTEN = 0.05; // attention below this has no number, unless the word was chosen

function Example({ example }: { example: HeadExample }) {
  const [asking, ...wanted] = example.marks;
  const { guess = -1, is_right } = example;
  const links = useMemo(() => linksOf(example), [example]);
  const role = (index: number): string => {
    if (index === asking) return " hp-asks";
    if (index === guess) return is_right ? " hp-found" : " hp-missed";
    return wanted.includes(index) ? " hp-wanted" : "";
  };
  if (example.words.length === 0)
    return (
      <li class="hp-example">
        <p dir="auto">{example.text}</p>
        <p class="hp-about">{example.note}</p>
      </li>
    );
  return (
    <li class="hp-example">
      <Arcs links={links} label={example.note}>
        <p class="hp-words" dir="auto">
          {example.words.map((word, index) => {
            const weight = example.weights?.[index] ?? null;
            const written = weight !== null && index !== asking && (weight >= WRITTEN || index === guess);
            return (
              <span
                key={index}
                class={`hp-word${role(index)}`}
                title={`${fullWord(word) ?? ""}${weight === null ? "" : ` ${shown(weight, 3, 1)}`}`.trim() || undefined}
                data-word={index}
                data-weight={weight}
              >
                <bdi>{shortened(visible(word), LONGEST)}</bdi>
                {written && <small>{Math.round(100 * weight)} %</small>}
              </span>
            );
          })}
        </p>
      </Arcs>
      <p class="hp-about">{example.note}</p>
    </li>
  );
}

/** Cases of probes: the word that asks, and arcs to where its head looks. */
export function Examples({
  title,
  about,
  examples,
}: {
  title: string;
  about?: string;
  examples: readonly HeadExample[];
}) {
  if (examples.length === 0) return null;
  return (
    <section class="hp-section hp-wide">
      <h3>{title}</h3>
      {about && <p class="hp-about">{about}</p>}
      <ul class="hp-examples">
        {examples.map((example, index) => (
          <Example key={index} example={example} />
        ))}
      </ul>
    </section>
  );
}
