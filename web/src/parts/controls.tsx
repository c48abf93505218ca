/** Small parts of the frame. */
import type { ComponentChildren } from "preact";

interface SwitchProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string, string?])[];
  onChange: (value: T) => void;
  /** Why an option cannot be taken; "" where it can. */
  whyNot?: (value: T) => string;
}

/** A few choices side by side, of which one is taken: (value, words, explanation). */
export function Switch<T extends string>({ label, value, options, onChange, whyNot }: SwitchProps<T>) {
  return (
    <div class="hs-switch" role="group" aria-label={label}>
      {options.map(([option, words, title]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          title={whyNot?.(option) || title || ""}
          disabled={(whyNot?.(option) ?? "") !== ""}
          onClick={() => onChange(option)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

/** A labelled control of the toolbar. */
export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="hs-field">
      <span class="hs-label">{label}</span>
      {children}
    </div>
  );
}

/** Something went wrong, in words. */
export function Trouble({ children }: { children: ComponentChildren }) {
  return (
    <p class="hs-trouble" role="alert">
      {children}
    </p>
  );
}

export function Busy({ children }: { children: ComponentChildren }) {
  return (
    <p class="hs-busy" role="status">
      {children}
    </p>
  );
}

interface CardLineProps {
  /** As "3.2"; "" for none. */
  head: string;
  /** What it does; "" where no atlas says. */
  card: string;
}

/** What a head does, as its card says. */
export function CardLine({ head, card }: CardLineProps) {
  if (card === "") return null;
  return (
    <p class="hs-card" role="status" data-head={head} title={card}>
      {head !== "" && <strong>{head}</strong>} {card}
    </p>
  );
}
