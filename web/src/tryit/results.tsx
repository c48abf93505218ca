/** Predictions before and after, next to each other. */

import type { Predicted, PredictRequest } from "../data/api";
import { shortened, visible } from "../data/tokens";
import { type Compared, comparedAll, faring, percent, type Row } from "./compare";

const SIGNS = { new: "new", up: "▲", down: "▼", same: "" } as const;
const WORDS = {
  new: "not among the best before",
  up: "higher than before",
  down: "lower than before",
  same: "",
} as const;

export function Results({ answer, request }: { answer: Predicted; request: PredictRequest }) {
  const places = comparedAll(answer.before, answer.after);
  const edits = request.edits ?? [];
  const changed = places.filter((place) => place.changed).length;
  const hasNew = places.some((place) => place.after.some((row, rank) => faring(row, rank) === "new"));
  return (
    <>
      {answer.note && (
        <p class="nv-notes" role="note">
          {answer.note}
        </p>
      )}
      {places.length === 0 && !answer.note && <p class="at-hint">The model has nothing to predict in this text.</p>}
      {edits.length > 0 && places.length > 0 && (
        <p class="ti-summary">
          {changed === 0
            ? "The best answer stays the same"
            : places.length === 1
              ? "The best answer changes"
              : `The best answer changes in ${changed} of ${places.length} places`}
          {` with ${edits.map((edit) => `${edit.heads} ${edit.how === "zero" ? "switched off" : "looking evenly"}`).join("; ")}.`}
        </p>
      )}
      {places.map((place, index) => (
        <Place key={index} place={place} edited={edits.length > 0} />
      ))}
      {edits.length > 0 && places.length > 0 && (
        <p class="at-about">
          A tick is the probability in the untouched model{hasNew ? "; “new” was not among its best." : "."}
        </p>
      )}
    </>
  );
}

function Place({ place, edited }: { place: Compared; edited: boolean }) {
  return (
    <section class={`ti-place${edited && place.changed ? " ti-changed" : ""}`} data-changed={edited && place.changed}>
      {place.place && (
        <h3 dir="auto" title={place.place.length > 60 ? place.place : undefined}>
          {shortened(visible(place.place), 60)} {edited && place.changed && <span class="ti-badge">changed</span>}
        </h3>
      )}
      <div class="ti-sides">
        <Side title={edited ? "as it is" : ""} rows={place.before} side="before" />
        {edited && <Side title="heads off" rows={place.after} side="after" />}
      </div>
    </section>
  );
}

function Side({ title, rows, side }: { title: string; rows: readonly Row[]; side: "before" | "after" }) {
  return (
    <div class="ti-side" data-side={side}>
      {title && <h4>{title}</h4>}
      <ol>
        {rows.map((row, rank) => {
          const fares = side === "after" ? faring(row, rank) : "same";
          const told = row.other === null ? "" : `; ${side === "after" ? "before" : "after"}: ${percent(row.other)}`;
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
                {side === "after" && row.other !== null && (
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
