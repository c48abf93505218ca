/** Predictions before and after, next to each other. */

import type { EmbeddingChange, Guess, Option, Predicted, PredictRequest } from "../data/api";
import { shortened, visible } from "../data/tokens";
import { largestOf, shown } from "../parts/numbers";
import { percent } from "./percent";

const SIGNS = { new: "new", up: "▲", down: "▼", same: "" } as const;
const WORDS = {
  new: "not among the best before",
  up: "higher than before",
  down: "lower than before",
  same: "",
} as const;

export function Results({ answer, request }: { answer: Predicted; request: PredictRequest }) {
  const places = answer.after.length;
  const edited = (request.edits ?? []).length > 0;
  const hasNew = answer.after.some(({ options }) => options.some(({ fares }) => fares === "new"));
  return (
    <>
      {answer.note && (
        <p class="nv-notes" role="note">
          {answer.note}
        </p>
      )}
      {places === 0 && !answer.note && !answer.embedding && (
        <p class="at-hint">The model has nothing to predict in this text.</p>
      )}
      {answer.said && <p class="ti-summary">{answer.said}</p>}
      {answer.embedding && <Moved change={answer.embedding} />}
      {answer.after.map((after, index) => (
        <Place key={index} before={answer.before[index] ?? after} after={after} edited={edited} />
      ))}
      {edited && places > 0 && (
        <p class="at-about">
          A tick is the probability in the unedited model{hasNew ? "; “new” was not among its best." : "."}
        </p>
      )}
    </>
  );
}

/** The tokens whose vectors move farthest. */
function Moved({ change }: { change: EmbeddingChange }) {
  const most = largestOf(change.tokens.map(({ distance }) => distance));
  return (
    <section class="ti-place" data-distance={change.distance}>
      <h3>Tokens that move most</h3>
      <ol class="ti-moved">
        {change.tokens.map(({ token, place, distance }) => (
          <li key={place} class="ti-option" data-token={token} data-distance={distance}>
            <span class="ti-word" dir="auto">
              {shortened(visible(token), 60)} <span class="hs-muted">{place}</span>
            </span>
            <span />
            <svg class="ti-bar" aria-hidden="true">
              <rect class="ti-after" width={`${(100 * distance) / (most || 1)}%`} height="100%" />
            </svg>
            <span class="ti-percent">{shown(distance)}</span>
          </li>
        ))}
      </ol>
      <p class="at-about">
        Cosine distance between a token's last vector before and after: 0 is no change, 1 a right angle. The longest bar
        is the largest of these.
      </p>
    </section>
  );
}

function Place({ before, after, edited }: { before: Guess; after: Guess; edited: boolean }) {
  const { place, changed = false } = after;
  return (
    <section class={`ti-place${edited && changed ? " ti-changed" : ""}`} data-changed={edited && changed}>
      {place && (
        <h3 dir="auto" title={place.length > 60 ? place : undefined}>
          {shortened(visible(place), 60)} {edited && changed && <span class="ti-badge">changed</span>}
        </h3>
      )}
      <div class="ti-sides">
        <Side title={edited ? "as it is" : ""} rows={before.options} side="before" />
        {edited && <Side title="heads off" rows={after.options} side="after" />}
      </div>
    </section>
  );
}

function Side({ title, rows, side }: { title: string; rows: readonly Option[]; side: "before" | "after" }) {
  return (
    <div class="ti-side" data-side={side}>
      {title && <h4>{title}</h4>}
      <ol>
        {rows.map((row, rank) => {
          const fares = side === "after" ? (row.fares ?? "same") : "same";
          const told = row.other == null ? "" : `; ${side === "after" ? "before" : "after"}: ${percent(row.other)}`;
          return (
            <li
              key={row.text + rank}
              class={`ti-option ti-${fares}`}
              title={`${row.text}: ${percent(row.probability)}${told}`}
              data-text={row.text}
              data-probability={row.probability}
            >
              <span class="ti-word" dir="auto">
                {row.text === "" ? "(nothing)" : shortened(visible(row.text), 60)}
              </span>
              <span class="ti-sign" title={WORDS[fares]}>
                {SIGNS[fares]}
              </span>
              <svg class="ti-bar" aria-hidden="true">
                <rect
                  class={side === "after" ? "ti-after" : "ti-before"}
                  width={`${100 * row.probability}%`}
                  height="100%"
                />
                {side === "after" && row.other != null && (
                  <line class="hp-mark" x1={`${100 * row.other}%`} x2={`${100 * row.other}%`} y1="0" y2="100%" />
                )}
              </svg>
              <span class="ti-percent">{percent(row.probability)}</span>
            </li>
          );
        })}
        {rows.length === 0 && <li class="at-hint">nothing</li>}
      </ol>
    </div>
  );
}
