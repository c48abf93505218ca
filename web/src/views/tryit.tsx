/** Try it: what the model predicts, and what it predicts with heads switched off. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ModelInfo, Predicted, PredictRequest, Seen } from "../api";
import { rampColour } from "../colour";
import { Field, Switch, Trouble } from "../frame/parts";
import { inWords, useLoaded, useSize } from "../hooks";
import type { State } from "../state";
import { withExtra } from "./atlasframe";
import { type Grid, headKey, parseHeads, printHeads } from "./headchoice";
import { HeadGrid } from "./headgrid";
import { Results } from "./tryitresults";
import type { View, ViewProps } from "./view";
import "./tryit.css";

type How = "zero" | "uniform";

interface Sample {
  first: string;
  second: string;
  a: string;
  b: string;
  hint: string;
}

const SAMPLES: Record<string, Sample> = {
  mlm: {
    first: "Text",
    second: "Second sentence (may be empty)",
    a: "The keys to the old cabinet [MASK] on the table.",
    b: "",
    hint: "Write [MASK] where a word is to be guessed.",
  },
  qa: {
    first: "Question",
    second: "Passage",
    a: "Who found the keys?",
    b: "The keys to the old cabinet were lost for years, until Anna found them under the carpet.",
    hint: "The model marks the answer in the passage.",
  },
  classification: {
    first: "Text",
    second: "Second sentence",
    a: "The train was late again.",
    b: "Once more the train did not arrive on time.",
    hint: "The model chooses a class.",
  },
  lm: {
    first: "Text",
    second: "Written so far",
    a: "The keys to the old cabinet",
    b: "",
    hint: "The model guesses the next token.",
  },
};
const ANY: Sample = { first: "Text", second: "Second text (may be empty)", a: "", b: "", hint: "" };

/** The grids of a model's stacks, from wherever they are known; empty when they are not. */
export function gridsOf(model: ModelInfo | undefined, seen: Seen | null): readonly Grid[] {
  const told = (model as { stacks?: readonly Grid[] | null } | undefined)?.stacks;
  if (told && told.length > 0) return told;
  return seen !== null && model !== undefined && seen.model === model.name ? seen.stacks : NO_GRIDS;
}

/** The same, with an atlas of the model as the last place to look. */
function useGrids(source: ViewProps["source"], model: ModelInfo | undefined, seen: Seen | null): readonly Grid[] {
  const known = gridsOf(model, seen);
  const atlas = source.about.atlases.find((one) => one.model === model?.name)?.id;
  const load = source.atlas;
  const wanted = known.length === 0 && atlas !== undefined && load !== undefined;
  const { value } = useLoaded(wanted ? () => load(atlas) : null, [source, atlas, wanted]);
  return wanted ? (value?.stacks ?? NO_GRIDS) : known;
}

const NO_GRIDS: readonly Grid[] = [];

interface Asked {
  busy: boolean;
  error: string;
  answer: Predicted | null;
  /** What the answer is for. */
  request: PredictRequest | null;
}

const NOTHING: Asked = { busy: false, error: "", answer: null, request: null };

/** Asking for predictions: one question at a time, the newest counts. */
function usePrediction(source: ViewProps["source"]) {
  const [asked, setAsked] = useState<Asked>(NOTHING);
  const underway = useRef<AbortController | null>(null);
  const cancel = () => {
    underway.current?.abort();
    underway.current = null;
    setAsked((before) => ({ ...before, busy: false }));
  };
  useEffect(() => () => underway.current?.abort(), []);
  const ask = async (request: PredictRequest): Promise<void> => {
    underway.current?.abort();
    const control = new AbortController();
    underway.current = control;
    setAsked((before) => ({ ...before, busy: true, error: "" }));
    try {
      const answer = await source.predict!(request, control.signal);
      if (underway.current === control) setAsked({ busy: false, error: "", answer, request });
    } catch (error) {
      if (underway.current === control)
        setAsked((before) => ({ ...before, busy: false, error: control.signal.aborted ? "" : inWords(error) }));
    }
  };
  return { asked, ask, cancel };
}

function TryView({ source, seen, state, setState, dark }: ViewProps) {
  const models = source.about.models;
  const model =
    models.find(({ name }) => name === state.model) ?? models.find(({ task }) => task !== null) ?? models[0];
  const sample = SAMPLES[model?.task ?? ""] ?? ANY;
  const [texts, setTexts] = useState<{ a: string; b: string } | null>(
    state.a !== "" ? { a: state.a, b: state.b } : null,
  );
  const { a, b } = texts ?? sample;
  const off = state.extra["x-off"] ?? "";
  const how: How = state.extra["x-how"] === "uniform" ? "uniform" : "zero";
  const grids = useGrids(source, model, seen);
  const choice = useMemo(() => parseHeads(off, grids), [off, grids]);
  const known = grids.length > 0 ? choice.error : "";
  const { asked, ask, cancel } = usePrediction(source);
  const request = (): PredictRequest => ({
    model: model?.name ?? "",
    text_a: a,
    text_b: model?.pairs && b.trim() !== "" ? b : null,
    edits: off.trim() === "" ? [] : [{ heads: off.trim(), how }],
  });
  const predict = () => {
    if (model === undefined || a.trim() === "" || known !== "") return;
    setState({ model: model.name, ...(texts ? { a, b: model.pairs ? b : "" } : {}) });
    void ask(request());
  };
  useFollow(off, how, asked.answer !== null, known === "", () => void ask(request()));
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
          <Models {...{ models, model, state, setState }} />
          <Text label={sample.first} value={a} onInput={(text) => setTexts({ a: text, b })} onEnter={predict} />
          {model.pairs && (
            <Text label={sample.second} value={b} onInput={(text) => setTexts({ a, b: text })} onEnter={predict} />
          )}
          <p class="at-about">{sample.hint}</p>
          <Heads {...{ grids, off, how, dark, state, setState }} heads={choice.heads} error={known} />
          <Actions busy={asked.busy} ready={a.trim() !== "" && known === ""} cancel={cancel} />
        </form>
        <Answer asked={asked} />
      </div>
    </div>
  );
}

const TASKS: Record<string, string> = {
  mlm: "masked words",
  qa: "answers",
  classification: "classes",
  lm: "next token",
};

interface ModelsProps {
  models: readonly ModelInfo[];
  model: ModelInfo;
  state: State;
  setState: ViewProps["setState"];
}

function Models({ models, model, state, setState }: ModelsProps) {
  if (models.length < 2) return null;
  return (
    <Field label="Model">
      <select
        aria-label="Model"
        value={model.name}
        onChange={(event) => setState({ model: event.currentTarget.value, ...withExtra(state, "x-off", "") })}
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
      {answer && request && <Results answer={answer} request={request} />}
      {!answer && error === "" && (
        <p class="at-hint">Predictions appear here: as the model is, and with the heads you switched off.</p>
      )}
    </div>
  );
}

/** Asks again a moment after heads were switched, once there is an answer to compare with. */
function useFollow(off: string, how: How, answered: boolean, valid: boolean, ask: () => void): void {
  const last = useRef(`${how} ${off}`);
  const latest = useRef(ask); // the text may have changed since
  latest.current = ask;
  useEffect(() => {
    const now = `${how} ${off}`;
    if (now === last.current || !valid) return undefined;
    last.current = now;
    if (!answered) return undefined;
    const timer = setTimeout(() => latest.current(), 350);
    return () => clearTimeout(timer);
  }, [off, how, valid]);
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

interface HeadsProps {
  grids: readonly Grid[];
  heads: ReadonlySet<string>;
  off: string;
  how: How;
  error: string;
  dark: boolean;
  state: State;
  setState: ViewProps["setState"];
}

function Heads({ grids, heads, off, how, error, dark, state, setState }: HeadsProps) {
  const place = useRef<HTMLDivElement>(null);
  const size = useSize(place);
  const write = (text: string) => setState(withExtra(state, "x-off", text));
  const toggle = (keys: readonly string[]) => {
    const next = new Set(heads);
    const all = keys.every((key) => next.has(key));
    for (const key of keys) {
      if (all) next.delete(key);
      else next.add(key);
    }
    write(printHeads(next, grids));
  };
  return (
    <fieldset class="ti-heads">
      <legend>Heads to switch off</legend>
      <div class="ti-row">
        <input
          type="text"
          aria-label="Heads to switch off"
          aria-invalid={error !== ""}
          placeholder="3.2, layer 7, layers 9-11 …"
          value={off}
          onInput={(event) => write(event.currentTarget.value)}
        />
        <Switch
          label="How heads are switched off"
          value={how}
          options={[
            ["zero", "zero", "the head gives nothing"],
            ["uniform", "uniform", "the head looks evenly at every token it may see"],
          ]}
          onChange={(one) => setState(withExtra(state, "x-how", one === "zero" ? "" : one))}
        />
        <button type="button" class="hs-button" disabled={off === ""} onClick={() => write("")}>
          None
        </button>
      </div>
      {error !== "" && <Trouble>{error}</Trouble>}
      <div ref={place}>
        {size.width > 0 &&
          grids.map((grid) => (
            <Switches
              key={grid.name}
              {...{ grid, heads, how, dark, toggle }}
              room={size.width}
              titled={grids.length > 1}
            />
          ))}
      </div>
      {grids.length > 0 && (
        <p class="at-about">Click heads, or the number of a layer. {heads.size > 0 ? `${heads.size} off.` : ""}</p>
      )}
    </fieldset>
  );
}

interface SwitchesProps {
  grid: Grid;
  heads: ReadonlySet<string>;
  how: How;
  dark: boolean;
  room: number;
  titled: boolean;
  toggle: (keys: readonly string[]) => void;
}

function Switches({ grid, heads, how, dark, room, titled, toggle }: SwitchesProps) {
  const [cursor, setCursor] = useState<number | null>(null);
  const count = grid.layers * grid.heads;
  const keyOf = (index: number) => headKey(grid.name, Math.floor(index / grid.heads), index % grid.heads);
  const on = rampColour("share", dark, 0.28);
  const away = how === "zero" ? rampColour("signed", dark, 0.1) : rampColour("amount", dark, 0.6);
  const colours = useMemo(
    () => Array.from({ length: count }, (_, index) => (heads.has(keyOf(index)) ? away : on)),
    [heads, count, on, away],
  );
  const bright = useMemo(() => Array<boolean>(count).fill(true), [count]);
  return (
    <>
      {titled && <p class="hp-what">{grid.name}</p>}
      <HeadGrid
        grid={grid}
        colours={colours}
        bright={bright}
        framed={new Set()}
        current={cursor}
        room={room}
        largest={24}
        label={`Heads of the ${grid.name} to switch off`}
        describe={(index) =>
          `Head ${Math.floor(index / grid.heads)}.${index % grid.heads} is ${heads.has(keyOf(index)) ? "off" : "on"}.`
        }
        onMove={setCursor}
        onChoose={(index) => {
          setCursor(index);
          toggle([keyOf(index)]);
        }}
        onLayer={(layer) => toggle(Array.from({ length: grid.heads }, (_, head) => headKey(grid.name, layer, head)))}
      />
    </>
  );
}

export const tryView: View = {
  name: "try",
  title: "Try it",
  about: "Type a text, switch heads off, and see the predictions change beside those of the untouched model.",
  needs: "predict",
  controls: [],
  component: TryView,
};
