/** Try it: what the model predicts, and what it predicts with heads switched off. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ModelInfo, PredictRequest } from "../data/api";
import { Field, Trouble } from "../parts/controls";
import * as settings from "../shell/edit";
import type { SetState, State } from "../shell/state";
import type { View, ViewProps } from "../shell/view";
import { type Asked, useFollow, usePrediction } from "./asked";
import { parseHeads } from "./headnames";
import { Heads, useGrids } from "./heads";
import { Results } from "./results";
import { sampleFor, TASKS } from "./samples";
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
  const grids = useGrids(source, model, seen);
  const choice = useMemo(() => parseHeads(off, grids), [off, grids]);
  const known = grids.length > 0 ? choice.error : "";
  const { asked, ask, cancel, sent } = usePrediction(source);
  const answered = asked.request?.model === model?.name ? asked : { ...asked, answer: null };
  const requestFor = (texts: Texts): PredictRequest => ({
    model: model?.name ?? "",
    text_a: texts.a,
    text_b: model?.pairs && texts.b.trim() !== "" ? texts.b : null,
    edits: off.trim() === "" ? [] : [{ heads: off.trim(), how }],
  });
  const ready = model !== undefined && a.trim() !== "" && known === "";
  const named = textsIn(state);
  // A model without a task is asked when somebody insists, and then says why not.
  const asks = ready && model.task !== null && (named !== null || off.trim() !== "" || answered.answer !== null);
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
  if (model === undefined) return <Trouble>There is no model to ask.</Trouble>;
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
          <Text label={sample.first} value={a} onInput={(text) => setTexts({ a: text, b })} onEnter={predict} />
          {model.pairs && (
            <Text label={sample.second} value={b} onInput={(text) => setTexts({ a, b: text })} onEnter={predict} />
          )}
          <p class="at-about">{sample.hint}</p>
          <Heads {...{ grids, off, how, dark, setState }} heads={choice.heads} error={known} />
          <Actions busy={asked.busy} ready={ready} cancel={cancel} />
        </form>
        <Answer asked={answered} />
      </div>
    </div>
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

function Actions({ busy, ready, cancel }: { busy: boolean; ready: boolean; cancel: () => void }) {
  return (
    <div class="ti-actions">
      <button type="submit" class="hs-button hs-main" disabled={busy || !ready}>
        Predict
      </button>
      {busy && (
        <>
          <button type="button" class="hs-button" onClick={cancel}>
            Cancel
          </button>
          <span class="hs-busy" role="status">
            The model reads …
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
        <p class="at-hint">Predictions appear here: as the model is, and with the heads you switched off.</p>
      )}
    </div>
  );
}

function Text({
  label,
  value,
  onInput,
  onEnter,
}: {
  label: string;
  value: string;
  onInput: (text: string) => void;
  onEnter: () => void;
}) {
  return (
    <label class="ti-text">
      <span class="hs-label">{label}</span>
      <textarea
        rows={value.length > 90 ? 4 : 2}
        dir="auto"
        value={value}
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
  about: "Type a text, switch heads off, and see the predictions change beside those of the untouched model.",
  needs: "predict",
  controls: [],
  settings: settings.EDIT_SETTINGS,
  component: TryView,
};
