/** Try it: what the model predicts, and what it predicts with heads switched off. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ModelInfo, PredictRequest } from "../data/api";
import { Field, Trouble } from "../parts/controls";
import * as settings from "../shell/edit";
import type { SetState, State } from "../shell/state";
import type { View, ViewProps } from "../shell/view";
import { type Asked, useFollow, usePrediction } from "./asked";
import { Heads } from "./heads";
import { useChosen, useKnown } from "./known";
import { MASK, masked } from "./mask";
import { Results } from "./results";
import { type Sample, sampleFor, TASKS } from "./samples";
import "./tryit.css";

/** The texts that the address names; null for none, so that a sample may stand there. */
function textsIn(state: State): Texts | null {
  return state.a === "" ? null : { a: state.a, b: state.b };
}

interface Texts {
  a: string;
  b: string;
}

/** The texts of the fields: what was typed since the address last changed, what it says, or a sample. */
function useTexts(state: State, model: string, sample: Texts): [Texts, (texts: Texts) => void] {
  const [typed, setTyped] = useState<Texts | null>(null);
  useEffect(() => setTyped(null), [state.a, state.b, model]);
  return [typed ?? textsIn(state) ?? { a: sample.a, b: sample.b }, setTyped];
}

function TryView({ source, seen, state, setState, dark }: ViewProps) {
  const models = source.about.models;
  const model =
    models.find(({ name }) => name === state.model) ?? models.find(({ task }) => task !== null) ?? models[0];
  const sample = sampleFor(model?.task);
  const [{ a, b }, setTexts] = useTexts(state, model?.name ?? "", sample);
  const [off, how] = [settings.off.of(state), settings.how.of(state)];
  const { asked, ask, cancel, sent } = usePrediction(source);
  const answered = asked.request?.model === model?.name ? asked : { ...asked, answer: null };
  const requestFor = (texts: Texts): PredictRequest => ({
    model: model?.name ?? "",
    text_a: texts.a,
    text_b: model?.pairs && texts.b.trim() !== "" ? texts.b : null,
    edits: settings.editsIn(state),
  });
  const named = textsIn(state);
  const known = useKnown(source, state, model, seen, requestFor(named ?? sample));
  const chosen = useChosen(source, known.grids, requestFor(named ?? sample));
  const error = known.grids.length > 0 ? chosen.error : known.error;
  const ready = model !== undefined && a.trim() !== "" && (known.grids.length === 0 || chosen.error === "");
  const asks = ready && (named !== null || off.trim() !== "" || answered.answer !== null);
  const predict = () => {
    if (!ready) return;
    const isSample = a === sample.a && (!model.pairs || b === sample.b) && state.a !== a;
    setState({ model: model.name, a: isSample ? "" : a, ...(model.pairs ? { b: isSample ? "" : b } : {}) });
    void ask(requestFor({ a, b }));
  };
  useFollow(
    {
      texts: JSON.stringify([model?.name, state.a, state.b]),
      heads: `${how} ${off}`,
      request: asks ? requestFor(named ?? sample) : null,
    },
    sent,
    (request) => void ask(request),
    predict,
  );
  if (model === undefined) return <Trouble>There is no model here.</Trouble>;
  return (
    <div class="ti">
      <div class="ti-body">
        <form
          class="ti-form"
          onSubmit={(event) => {
            event.preventDefault();
            predict();
          }}
        >
          <Models {...{ models, model, setState }} />
          <Fields {...{ model, sample, setTexts }} texts={{ a, b }} onEnter={predict} />
          <Heads {...known} {...{ off, how, dark, state, setState, error }} heads={chosen.heads} />
          <Actions busy={asked.busy} ready={ready} cancel={cancel} verb={model.task ? "Predict" : "Compare"} />
        </form>
        <div>
          <Answer asked={answered} />
          {off.trim() !== "" && chosen.error === "" && <Attention setState={setState} />}
        </div>
      </div>
    </div>
  );
}

interface FieldsProps {
  model: ModelInfo;
  sample: Sample;
  texts: Texts;
  setTexts: (texts: Texts) => void;
  onEnter: () => void;
}

/** The texts, and for masked words a button that hides one. */
function Fields({ model, sample, texts, setTexts, onEnter }: FieldsProps) {
  const last = useRef<HTMLTextAreaElement | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const after = useRef<{ field: HTMLTextAreaElement; cursor: number } | null>(null);
  const hide = (): void => {
    const field = last.current ?? place.current?.querySelector("textarea");
    if (!field) return;
    const isFirst = field === place.current?.querySelector("textarea");
    // Never touched, the cursor of a field stands before its first word; the end is where one goes on.
    const start = last.current === null ? field.value.length : field.selectionStart;
    const { text, cursor } = masked(field.value, start, last.current === null ? start : field.selectionEnd);
    setTexts(isFirst ? { ...texts, a: text } : { ...texts, b: text });
    after.current = { field, cursor };
  };
  // In the commit that shows the text: a frame later the cursor would take back what was typed meanwhile.
  useLayoutEffect(() => {
    if (after.current === null) return;
    const { field, cursor } = after.current;
    after.current = null;
    field.focus();
    field.setSelectionRange(cursor, cursor);
  });
  const touched = (field: HTMLTextAreaElement): void => {
    last.current = field;
  };
  const shared = { onEnter, touched };
  return (
    <div ref={place}>
      <Text {...shared} label={sample.first} value={texts.a} onInput={(a) => setTexts({ ...texts, a })} />
      {model.pairs && (
        <Text {...shared} label={sample.second} value={texts.b} onInput={(b) => setTexts({ ...texts, b })} />
      )}
      <p class="at-about ti-hint">
        {model.task === "mlm" && (
          <button type="button" class="hs-button" title="Over the selected word, or at the cursor" onClick={hide}>
            Insert {MASK}
          </button>
        )}
        <span>{sample.hint}</span>
      </p>
    </div>
  );
}

/** Where the attention of the edited model is. */
function Attention({ setState }: { setState: SetState }) {
  const views = [
    ["head", "Heads"],
    ["matrix", "Matrix"],
    ["model", "All heads"],
  ] as const;
  return (
    <p class="ti-row">
      <span class="hs-label">What the edit changes in the attention:</span>
      {views.map(([view, title]) => (
        <button
          key={view}
          type="button"
          class="hs-button"
          onClick={() => setState({ view, settings: settings.shows.to("difference") })}
        >
          {title}
        </button>
      ))}
    </p>
  );
}

interface ModelsProps {
  models: readonly ModelInfo[];
  model: ModelInfo;
  setState: SetState;
}

function Models({ models, model, setState }: ModelsProps) {
  if (models.length < 2) return null;
  return (
    <Field label="Model">
      <select
        aria-label="Model"
        value={model.name}
        onChange={(event) => setState({ model: event.currentTarget.value, settings: settings.off.to("") })}
      >
        {models.map(({ name, task }) => (
          <option key={name} value={name}>
            {task ? `${name} (${TASKS[task] ?? task})` : name}
          </option>
        ))}
      </select>
    </Field>
  );
}

function Actions({ busy, ready, cancel, verb }: { busy: boolean; ready: boolean; cancel: () => void; verb: string }) {
  return (
    <div class="ti-actions">
      <button type="submit" class="hs-button hs-main" disabled={busy || !ready}>
        {verb}
      </button>
      {busy && (
        <>
          <button type="button" class="hs-button" onClick={cancel}>
            Cancel
          </button>
          <span class="hs-busy" role="status">
            Running the model …
          </span>
        </>
      )}
    </div>
  );
}

function Answer({ asked }: { asked: Asked }) {
  const { answer, request, error, busy } = asked;
  return (
    <div class="ti-results" aria-busy={busy} aria-live="polite">
      {error !== "" && <Trouble>{error}</Trouble>}
      {answer && request && error === "" && <Results answer={answer} request={request} />}
      {!answer && error === "" && (
        <p class="at-hint">Predictions appear here: of the unedited model, and with the heads you switched off.</p>
      )}
    </div>
  );
}

function Text({
  label,
  value,
  onInput,
  onEnter,
  touched,
}: {
  label: string;
  value: string;
  onInput: (text: string) => void;
  onEnter: () => void;
  touched: (field: HTMLTextAreaElement) => void;
}) {
  return (
    <label class="ti-text">
      <span class="hs-label">{label}</span>
      <textarea
        rows={value.length > 90 ? 4 : 2}
        dir="auto"
        value={value}
        onFocus={(event) => touched(event.currentTarget)}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          onEnter();
        }}
      />
    </label>
  );
}

export const tryView: View = {
  name: "try",
  title: "Try it",
  about: "Type a text, switch heads off, and compare the predictions with those of the unedited model.",
  needs: "predict",
  controls: [],
  settings: settings.EDIT_SETTINGS,
  component: TryView,
};
