/** Where new texts are typed, on pages that can send them through a model. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Source } from "../data/source";
import { Trouble } from "../parts/controls";
import { type Read, type Typed, useReading } from "./reading";
import type { SetState, State } from "./state";

interface Props {
  source: Source;
  state: State;
  setState: SetState;
  /** What was read last, here or before the bar was away. */
  read: Read | null;
  onRead: (read: Read) => void;
  /** What stands at its end. */
  children?: ComponentChildren;
}

export function TextBar({ source, state, setState, read, onRead, children }: Props) {
  const models = source.about.models;
  const { wanted, busy, trouble, look, cancel } = useReading(source, state, setState, read, onRead);
  // The second text as well where this model takes none: the next one may.
  const [typed, setTyped] = useState<Typed>({ ...wanted, b: state.b });
  const model = models.find((each) => each.name === typed.model);
  const change = (part: Partial<Typed>): void => setTyped({ ...typed, ...part });
  useEffect(() => setTyped({ ...wanted, b: state.b }), [wanted.model, wanted.a, state.b]);

  return (
    <form
      class="hs-textbar"
      onSubmit={(event) => {
        event.preventDefault();
        void look(typed);
      }}
    >
      {models.length > 1 && (
        <select
          aria-label="Model"
          value={typed.model}
          onChange={(event) => change({ model: event.currentTarget.value })}
        >
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
      {busy ? (
        <button type="button" class="hs-button" onClick={cancel}>
          Cancel
        </button>
      ) : (
        <button type="submit" class="hs-button hs-main" disabled={typed.a.trim() === ""}>
          Look
        </button>
      )}
      {busy && (
        <span class="hs-busy" role="status">
          The model reads …
        </span>
      )}
      {children}
      {trouble !== null && <Trouble>{trouble}</Trouble>}
    </form>
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
