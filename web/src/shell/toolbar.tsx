/** The controls of a view. */

import { useRef, useState } from "preact/hooks";
import type { Seen, StackShape } from "../data/api";
import { amountOf, cardOf, type Source } from "../data/source";
import { type Filter, hasSentences } from "../data/tokens";
import { headColour } from "../parts/colour";
import { CardLine, Field, Switch } from "../parts/controls";
import { layerName } from "../parts/headgrid";
import { atLevel, leastDrawn, onlyOne, shownHeads, toggled } from "./choices";
import type { SetState, State } from "./state";
import type { View } from "./view";
import { WEIGH_WORDS, type Weigh, weigh, whyNot } from "./weigh";

const FILTER_WORDS: readonly (readonly [Filter, string, string])[] = [
  ["all", "all", "every token"],
  ["aa", "A→A", "from the first sentence to the first"],
  ["ab", "A→B", "from the first sentence to the second"],
  ["ba", "B→A", "from the second sentence to the first"],
  ["bb", "B→B", "from the second sentence to the second"],
];

const STACK_WORDS: Record<string, string> = {
  encoder: "encoder",
  decoder: "decoder",
  cross: "decoder → encoder",
};

interface Props {
  view: View;
  source: Source;
  seen: Seen;
  state: State;
  setState: SetState;
  dark: boolean;
  /** Whether one model is shown; beside another, what is said of a head names its model. */
  isOne: boolean;
}

export function Toolbar({ view, source, seen, state, setState, dark, isOne }: Props) {
  const [pointed, setPointed] = useState<number | null>(null);
  const stack = seen.stacks.find((each) => each.name === state.stack);
  if (stack === undefined) return null;
  const has = (control: View["controls"][number]): boolean => view.controls.includes(control);
  const alone = has("head") || state.heads.length === 1 ? (state.heads[0] ?? 0) : null;
  const said = pointed ?? alone;
  return (
    <div class="hs-toolbar" role="toolbar" aria-label="What is shown">
      {seen.stacks.length > 1 && (
        <Field label="Stack">
          <Switch
            label="Stack"
            value={state.stack}
            options={seen.stacks.map((each) => [each.name, STACK_WORDS[each.name] ?? each.name] as const)}
            onChange={(name) => setState({ stack: name, token: null, heads: [] })}
          />
        </Field>
      )}
      {has("layer") && <LayerPicker stack={stack} layer={state.layer} setState={setState} />}
      {has("level") && <LevelSwitch {...{ seen, state, setState }} />}
      {(has("heads") || has("head")) && (
        <Field label={has("heads") ? "Heads" : "Head"}>
          <HeadChips {...{ seen, state, setState, stack, dark }} single={!has("heads")} onPoint={setPointed} />
        </Field>
      )}
      {has("weigh") && <WeighSwitch {...{ view, source, seen, setState }} />}
      {has("filter") && hasSentences(seen, stack) && (
        <Field label="From → to">
          <Switch
            label="Sentences"
            value={state.filter}
            options={FILTER_WORDS}
            onChange={(filter) => setState({ filter })}
          />
        </Field>
      )}
      {has("threshold") && <Threshold {...{ setState, seen }} threshold={leastDrawn(view, state, seen, stack)} />}
      {(has("head") || has("heads")) && seen.cards?.[stack.name] !== undefined && (
        <CardLine
          head={said === null ? "" : `${isOne ? "" : `${seen.model} `}${state.layer}.${said}`}
          card={said === null ? "Point at a head for what it does." : cardOf(seen, stack, state.layer, said)}
        />
      )}
    </div>
  );
}

function LayerPicker({ stack, layer, setState }: { stack: StackShape; layer: number; setState: SetState }) {
  return (
    <Field label="Layer">
      <div class="hs-stepper">
        <button
          type="button"
          aria-label="Previous layer"
          disabled={layer === 0}
          onClick={() => setState({ layer: layer - 1 })}
        >
          ‹
        </button>
        <select
          aria-label="Layer"
          value={layer}
          onChange={(event) => setState({ layer: Number(event.currentTarget.value) })}
        >
          {Array.from({ length: stack.layers }, (_, each) => (
            <option key={each} value={each}>
              {layerName(stack, each)}
            </option>
          ))}
        </select>
        <button
          type="button"
          aria-label="Next layer"
          disabled={layer === stack.layers - 1}
          onClick={() => setState({ layer: layer + 1 })}
        >
          ›
        </button>
      </div>
    </Field>
  );
}

interface WeighSwitchProps {
  view: View;
  source: Source;
  seen: Seen;
  setState: SetState;
}

/** Where heads look, or what they move. */
function WeighSwitch({ view, source, seen, setState }: WeighSwitchProps) {
  const why = (wanted: Weigh): string => whyNot(wanted, view, source, seen);
  const reason = WEIGH_WORDS.map(([wanted]) => why(wanted)).find(Boolean);
  return (
    <Field label="Show">
      <Switch
        label="Where heads look, or what they move"
        value={seen.weigh ?? "looked"}
        options={WEIGH_WORDS}
        whyNot={why}
        onChange={(wanted) => setState({ settings: weigh.to(wanted) })}
      />
      {reason && (
        <span class="hs-muted hs-why" title={reason}>
          {reason}
        </span>
      )}
    </Field>
  );
}

function LevelSwitch({ seen, state, setState }: { seen: Seen; state: State; setState: SetState }) {
  return (
    <Field label="Tokens">
      <Switch
        label="Pieces or words"
        value={state.level}
        options={[
          ["piece", "pieces", "tokens as the model reads them"],
          ["word", "words", "to a word: the sum over its pieces; from a word: the mean over its pieces"],
        ]}
        onChange={(level) => setState(atLevel(seen, state, level))}
      />
    </Field>
  );
}

/** The slider moves in even steps of the root: most weights are small. */
function Threshold({ threshold, setState, seen }: { threshold: number; setState: SetState; seen: Seen }) {
  const what = amountOf(seen);
  return (
    <Field label={`${{ change: "Changes", weight: "Weights" }[what] ?? "Shares"} from`}>
      <input
        type="range"
        min="0"
        max="1"
        step="0.01"
        aria-label={`Smallest ${what} that is drawn`}
        aria-valuetext={percent(threshold)}
        value={Math.sqrt(threshold)}
        onInput={(event) => setState({ threshold: rounded(Number(event.currentTarget.value) ** 2) })}
      />
      <output class="hs-number">{percent(threshold)}</output>
    </Field>
  );
}

const rounded = (value: number): number => Math.round(value * 10000) / 10000;

function percent(value: number): string {
  return `${Number((value * 100).toPrecision(2))} %`;
}

interface HeadChipsProps {
  seen: Seen;
  state: State;
  setState: SetState;
  stack: StackShape;
  dark: boolean;
  /** One head at a time. */
  single: boolean;
  /** The head that is pointed at, by the mouse or with the focus. */
  onPoint: (head: number | null) => void;
}

/** The heads of a layer as coloured buttons. */
function HeadChips({ seen, state, setState, stack, dark, single, onPoint }: HeadChipsProps) {
  const before = useRef<readonly number[]>([]);
  const shown = new Set(single ? [state.heads[0] ?? 0] : shownHeads(state, stack));
  const click = (head: number, clicks: number): void => {
    if (single) {
      setState({ heads: [head] });
      return;
    }
    // A double click comes as two clicks and then as one, so what was there before the first is kept.
    if (clicks <= 1) before.current = state.heads;
    setState({ heads: toggled(state.heads, head, stack.heads) });
  };
  return (
    <div class="hs-chips" role="group" aria-label={single ? "Head" : "Heads"}>
      {Array.from({ length: stack.heads }, (_, head) => (
        <button
          key={head}
          type="button"
          class="hs-chip"
          data-head={head}
          aria-pressed={shown.has(head)}
          aria-label={[`Head ${state.layer}.${head}`, cardOf(seen, stack, state.layer, head)]
            .filter(Boolean)
            .join(": ")}
          title={`Head ${state.layer}.${head}${single ? "" : " (double click: only this one)"}\n${cardOf(seen, stack, state.layer, head)}`.trim()}
          onPointerEnter={() => onPoint(head)}
          onPointerLeave={() => onPoint(null)}
          onFocus={(event) => event.currentTarget.matches(":focus-visible") && onPoint(head)}
          onBlur={() => onPoint(null)}
          style={{ "--chip": headColour(head, dark) }}
          onClick={(event) => click(head, event.detail)}
          onDblClick={() => !single && setState({ heads: onlyOne(before.current, head) })}
        >
          {head}
        </button>
      ))}
      {!single && (
        <button
          type="button"
          class="hs-button hs-all"
          disabled={state.heads.length === 0}
          onClick={() => setState({ heads: [] })}
        >
          all
        </button>
      )}
    </div>
  );
}
