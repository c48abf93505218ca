/** Where new texts are typed, on pages that can send them through a model. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ModelInfo, Seen } from "../api";
import { inWords } from "../hooks";
import type { Source } from "../source";
import type { SetState, State } from "../state";
import { Trouble } from "./parts";

const SAMPLE = "The keys to the old cabinet were on the table, but nobody had seen them.";

interface Props {
  source: Source;
  state: State;
  setState: SetState;
  onSeen: (seen: Seen) => void;
}

interface Typed {
  model: string;
  a: string;
  b: string;
}

/** What an address says should be read; without a text the sample. */
function typedIn(state: State, models: readonly ModelInfo[]): Typed {
  const model = models.find((each) => each.name === state.model) ?? models[0];
  return { model: model?.name ?? "", a: state.a || SAMPLE, b: model?.pairs ? state.b : "" };
}

function same(one: Typed, other: Typed): boolean {
  return one.model === other.model && one.a === other.a && one.b === other.b;
}

export function TextBar({ source, state, setState, onSeen }: Props) {
  const models = source.about.models;
  const wanted = typedIn(state, models);
  const [typed, setTyped] = useState<Typed>(wanted);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const underway = useRef<AbortController | null>(null);
  const read = useRef<Typed | null>(source.current === null ? null : wanted);
  const model = models.find((each) => each.name === typed.model);
  const change = (part: Partial<Typed>): void => setTyped({ ...typed, ...part });

  const look = async (text: Typed): Promise<void> => {
    underway.current?.abort();
    const control = new AbortController();
    underway.current = control;
    setBusy(true);
    setTrouble(null);
    try {
      const pairs = models.find((each) => each.name === text.model)?.pairs ?? false;
      const second = pairs && text.b.trim() !== "" ? text.b : "";
      const request = { model: text.model, text_a: text.a, text_b: second === "" ? null : second };
      const isOther = read.current !== null && !same(read.current, text);
      read.current = { ...text, b: second };
      const seen = await source.seen!(request, control.signal);
      onSeen(seen);
      const at = { model: text.model, a: text.a === SAMPLE ? "" : text.a, b: second };
      setState(isOther ? { ...at, token: null } : at);
    } catch (error) {
      if (!control.signal.aborted) setTrouble(inWords(error));
    } finally {
      if (underway.current === control) {
        underway.current = null;
        setBusy(false);
      }
    }
  };
  const cancel = (): void => {
    underway.current?.abort();
    underway.current = null;
    setBusy(false);
  };
  useEffect(() => cancel, []);
  // The first text, and one that comes with an address: a link that was opened, a step back.
  useEffect(() => {
    if (read.current !== null && same(read.current, wanted)) return;
    setTyped(wanted);
    void look(wanted);
  }, [wanted.model, wanted.a, wanted.b]);

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
