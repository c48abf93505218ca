/** Sending texts through a model: the one that the address names, and those that are typed. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ModelInfo, Seen } from "../data/api";
import type { Source } from "../data/source";
import { inWords } from "../parts/hooks";
import { type Wish, wishIn } from "./edit";
import type { SetState, State } from "./state";

const SAMPLE = "The keys to the old cabinet were on the table, but nobody had seen them.";
/** A text that comes back to itself: induction heads have something to find. */
export const REPEATED = "The old doctor lost a silver letter in the garden. Next summer the old doctor lost a silver";

/** The text that a model reads before anything is typed. */
export function sampleOf(model: ModelInfo | undefined): string {
  return model?.task === "lm" ? REPEATED : SAMPLE;
}

export interface Typed {
  model: string;
  a: string;
  b: string;
}

/** What is to be read, and how the model is to be edited meanwhile. */
export type Wanted = Typed & Wish;

/** What an address says should be read; without a text the sample, without a model the first. */
export function typedIn(state: State, models: readonly ModelInfo[]): Wanted {
  const model = state.model === "" ? models[0] : models.find((each) => each.name === state.model);
  const text = { model: model?.name ?? state.model, a: state.a || sampleOf(model), b: model?.pairs ? state.b : "" };
  return { ...text, ...wishIn(state) };
}

export function same(one: Wanted, other: Wanted): boolean {
  const sameText = one.model === other.model && one.a === other.a && one.b === other.b;
  return sameText && sameWish(one, other);
}

export function sameWish(one: Wish, other: Wish): boolean {
  const said = ({ edits, difference, weigh, generate }: Wish): string =>
    JSON.stringify([edits, difference, weigh, generate]);
  return said(one) === said(other);
}

/** A text that was read, and what was asked for to get it. */
export interface Read {
  typed: Wanted;
  seen: Seen;
}

export interface Reading {
  /** What stands in the fields. */
  typed: Typed;
  change: (part: Partial<Typed>) => void;
  /** What was read last; null before the first text. */
  read: Read | null;
  /** Whether what was read is something else than what stands in the fields. */
  stale: boolean;
  busy: boolean;
  trouble: string | null;
  look: (text: Typed) => Promise<void>;
  cancel: () => void;
}

/**
 * Reads what the address names, whenever that is another text or another model; `look` reads what was typed. Nothing is
 * read while no view of a text `isShown`.
 */
export function useReading(source: Source, state: State, setState: SetState, isShown: boolean): Reading {
  const models = source.about.models;
  const wanted = typedIn(state, models);
  const [read, setRead] = useState<Read | null>(null);
  const [busy, setBusy] = useState(isShown);
  const [trouble, setTrouble] = useState<string | null>(null);
  const underway = useRef<AbortController | null>(null);
  const asked = useRef<Wanted | null>(null);
  const arrived = useRef<Wanted | null>(null);
  // The second text as well where this model takes none: the next one may.
  const [typed, setTyped] = useState<Typed>({ ...wanted, b: state.b });
  useEffect(() => setTyped({ ...wanted, b: state.b }), [wanted.model, wanted.a, state.b]);
  const takesPairs = (name: string): boolean => models.find((model) => model.name === name)?.pairs ?? false;
  // Heads of one model mean nothing in another.
  const wish = (name: string): Wish => ({
    ...wishIn(state),
    ...(name === wanted.model ? {} : { edits: [], difference: false, generate: 0 }),
  });
  const sent = ({ model, a, b }: Typed): Wanted => ({
    ...{ model, a, b: takesPairs(model) && b.trim() !== "" ? b : "" },
    ...wish(model),
  });

  // What did not arrive is asked for again when the views of texts are back.
  const stop = (): void => {
    underway.current = null;
    asked.current = arrived.current;
    setBusy(false);
  };
  const look = async (text: Typed): Promise<void> => {
    underway.current?.abort();
    const control = new AbortController();
    underway.current = control;
    setBusy(true);
    setTrouble(null);
    try {
      const typed = sent(text);
      asked.current = typed;
      const { edits, difference, weigh, generate } = typed;
      const texts = { model: typed.model, text_a: typed.a, text_b: typed.b === "" ? null : typed.b };
      const request = { ...texts, edits, difference, weigh, generate };
      const seen = await source.seen!(request, control.signal);
      if (control.signal.aborted) return;
      arrived.current = typed;
      setRead({ typed, seen });
      const sample = sampleOf(models.find((each) => each.name === text.model));
      const a = text.a === sample && state.a !== sample ? "" : text.a;
      // A model of one text leaves the second where it is, for the next model.
      setState({ model: text.model, a, ...(takesPairs(text.model) ? { b: typed.b } : {}) });
    } catch (error) {
      if (!control.signal.aborted) setTrouble(inWords(error));
    } finally {
      if (underway.current === control) stop();
    }
  };
  const cancel = (): void => {
    underway.current?.abort();
    stop();
  };
  // The first text, and one that comes with an address: a link that was opened, a step back, a head of another model.
  useLayoutEffect(() => {
    if (!isShown) cancel();
    else if (asked.current === null || !same(asked.current, wanted)) void look(wanted);
  }, [
    isShown,
    wanted.model,
    wanted.a,
    wanted.b,
    JSON.stringify(wanted.edits),
    wanted.difference,
    wanted.weigh,
    wanted.generate,
  ]);
  const change = (part: Partial<Typed>): void => setTyped((before) => ({ ...before, ...part }));
  const stale = read !== null && !same(read.typed, sent(typed));
  return { typed, change, read, stale, busy, trouble, look, cancel };
}
