/** Where new texts are typed, on pages that can send them through a model. */
import type { ComponentChildren } from "preact";
import type { ModelInfo } from "../data/api";
import { subjectOf } from "../data/source";
import { shortened } from "../data/tokens";
import { Trouble } from "../parts/controls";
import type { Read, Reading } from "./reading";

interface Props {
  models: readonly ModelInfo[];
  reading: Reading;
  /** How many tokens a model writes after the text, and how that is changed; without it texts are only read. */
  generate?: { tokens: number; change: (tokens: number) => void };
  /** What stands at its end. */
  children?: ComponentChildren;
}

/** How many tokens there are to choose from. */
const LENGTHS = [0, 10, 20, 40, 80];

export function TextBar({ models, reading, generate, children }: Props) {
  const { typed, change, read, stale, busy, trouble, look, cancel } = reading;
  const model = models.find((each) => each.name === typed.model);
  const choose = (name: string): void => {
    change({ model: name });
    void look({ ...typed, model: name });
  };

  return (
    <form
      class="hs-textbar"
      onSubmit={(event) => {
        event.preventDefault();
        void look(typed);
      }}
    >
      {models.length > 1 && (
        <select aria-label="Model" value={typed.model} onChange={(event) => choose(event.currentTarget.value)}>
          {models.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      )}
      <TextField
        label={model?.pairs ? "Text A" : "Text"}
        value={typed.a}
        onInput={(a) => change({ a })}
        onEnter={() => void look(typed)}
      />
      {model?.pairs && (
        <TextField
          label="Text B (may be empty)"
          value={typed.b}
          onInput={(b) => change({ b })}
          onEnter={() => void look(typed)}
        />
      )}
      {generate !== undefined && model?.task === "lm" && (
        <label class="hs-field" title="Let the model go on with the text, and show every head as each token was made">
          <span class="hs-label">Generate</span>
          <select
            aria-label="Tokens to generate"
            value={generate.tokens}
            onChange={(event) => generate.change(Number(event.currentTarget.value))}
          >
            {[...new Set([...LENGTHS, generate.tokens])].map((tokens) => (
              <option key={tokens} value={tokens}>
                {tokens === 0 ? "nothing" : `${tokens} tokens`}
              </option>
            ))}
          </select>
        </label>
      )}
      {busy ? (
        // Keys: one button that turned from this into the other while it is clicked would submit.
        <button key="cancel" type="button" class="hs-button" onClick={cancel}>
          Cancel
        </button>
      ) : (
        <button key="look" type="submit" class="hs-button hs-main" disabled={typed.a.trim() === ""}>
          Look
        </button>
      )}
      {busy && (
        <span class="hs-busy" role="status">
          {typed.model} reads the text …
        </span>
      )}
      {children}
      {stale && read !== null && <Stale {...{ read, busy }} />}
      {trouble !== null && <Trouble>{trouble}</Trouble>}
    </form>
  );
}

/** What the picture is of, as long as that is not what the fields say. */
function Stale({ read: { typed, seen }, busy }: { read: Read; busy: boolean }) {
  return (
    <span class="hs-stale-note" role="note">
      The picture is of <strong>{subjectOf({ ...seen, model: typed.model })}</strong>, for “
      <bdi>{shortened(typed.a, 60)}</bdi>”
      {typed.b !== "" && (
        <>
          {" "}
          and “<bdi>{shortened(typed.b, 60)}</bdi>”
        </>
      )}
      {busy ? "." : "; press Look for a new one."}
    </span>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onInput: (text: string) => void;
  onEnter: () => void;
}

function TextField({ label, value, onInput, onEnter }: FieldProps) {
  return (
    <textarea
      rows={value.length > 120 ? 3 : 1}
      dir="auto"
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          onEnter();
        }
      }}
    />
  );
}
