/** Why a head does what it does, as `headscope explain` found it: in words, and as small charts. */

import type { HeadPage } from "../data/api";
import { type Bar, Bars } from "./charts";

type Found = NonNullable<HeadPage["explanation"]>;

function numbers(found: Found, name: string): number[] {
  const value = found[name];
  return Array.isArray(value) ? value.filter((one): one is number => typeof one === "number") : [];
}

/** The ends of the interval of one of these numbers; null where it has none. */
function ends(found: Found, name: string, index: number): { low: number | null; high: number | null } {
  const end = (which: string): number | null => {
    const values = found[`${name}_${which}`];
    const value = Array.isArray(values) ? values[index] : null;
    return typeof value === "number" ? value : null;
  };
  return { low: end("low"), high: end("high") };
}

function texts(found: Found, name: string): string[] {
  const value = found[name];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

/** What the best 1, 2, 4, 8 neurons carry of the score (or give of the pattern), beside as many at random. */
export function shareBars(found: Found, what: "score" | "pattern"): Bar[] {
  const name = what === "score" ? "score_share" : "score_pattern";
  const values = numbers(found, name);
  const random = numbers(found, `${name}_random`);
  return numbers(found, "counts").map((count, index) => ({
    label: count === 1 ? "best neuron" : `best ${count}`,
    value: values[index] ?? null,
    ...(what === "score" ? ends(found, "score", index) : {}),
    mark: random[index] ?? null,
    markName: "as many at random",
  }));
}

/** What the whole score and the neurons that are sure by themselves tell apart, contrast by contrast; from 0.5. */
export function apartGroups(found: Found): { what: string; bars: Bar[] }[] {
  const values = numbers(found, "apart_auc");
  const names = texts(found, "neuron_what");
  const [number, auc] = [numbers(found, "neuron_number"), numbers(found, "neuron_auc")];
  const [low, high] = [numbers(found, "neuron_low"), numbers(found, "neuron_high")];
  return texts(found, "apart_what").map((what, index) => ({
    what,
    bars: [
      { label: "whole score", value: values[index] ?? null, ...ends(found, "apart", index) },
      ...names.flatMap((name, at): Bar[] =>
        name === what
          ? [{ label: `neuron ${number[at]}`, value: auc[at] ?? null, low: low[at] ?? null, high: high[at] ?? null }]
          : [],
      ),
    ].map((bar) => ({ ...bar, mark: 0.5, markName: "tells nothing" })),
  }));
}

const REPLACED: Record<string, string> = {
  token: "tokens",
  position: "positions",
  segment: "segments",
  all: "all of these",
};

/** What of the pattern is left when embeddings are replaced by their mean. */
export function leftBars(found: Found): Bar[] {
  const values = numbers(found, "left");
  return texts(found, "replaced").map((what, index) => ({
    label: `without ${REPLACED[what] ?? what}`,
    value: values[index] ?? null,
    ...ends(found, "left", index),
  }));
}

export function Explanation({ found }: { found: Found }) {
  const [score, pattern, apart, left] = [
    shareBars(found, "score"),
    shareBars(found, "pattern"),
    apartGroups(found),
    leftBars(found),
  ];
  const bias = found.bias;
  return (
    <>
      <section class="hp-section">
        <h3>Why it does that</h3>
        {texts(found, "words").map((line) => (
          <p class="hp-said" key={line}>
            {line}
          </p>
        ))}
        {score.length > 0 && (
          <>
            <p class="hp-what">share of the score that its best neurons carry</p>
            <Bars bars={score} range={[0, 1]} />
            {pattern.some(({ value }) => value !== null) && (
              <>
                <p class="hp-what">share of the pattern that they alone give</p>
                <Bars bars={pattern} />
              </>
            )}
            <p class="hp-about">The tick is what as many neurons drawn at random give.</p>
          </>
        )}
        {typeof bias === "number" && <Bars bars={[{ label: "bias for position", value: bias }]} range={[0, 1]} />}
      </section>
      {apart.length > 0 && (
        <section class="hp-section">
          <h3>What its score tells apart</h3>
          {apart.map(({ what, bars }) => (
            <div key={what}>
              <p class="hp-what">{what}</p>
              <Bars bars={bars} range={[0, 1]} />
            </div>
          ))}
          <p class="hp-about">
            AUC: 0.5, the tick, tells nothing. Only neurons whose interval, of 95 % for all of them at once, leaves it
            out are named.
          </p>
        </section>
      )}
      {left.length > 0 && (
        <section class="hp-section">
          <h3>What is left of its pattern</h3>
          <Bars bars={left} />
          <p class="hp-about">
            With embeddings replaced by their mean: 1 is the whole pattern, 0 no better than even attention.
          </p>
        </section>
      )}
    </>
  );
}
