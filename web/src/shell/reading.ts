/** Sending texts through a model: the one that the address names, and those that are typed. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ModelInfo, Seen } from "../data/api";
import type { Source } from "../data/source";
import { inWords } from "../parts/hooks";
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

/** What an address says should be read; without a text the sample, without a model the first. */
export function typedIn(state: State, models: readonly ModelInfo[]): Typed {
  const model = state.model === "" ? models[0] : models.find((each) => each.name === state.model);
  return { model: model?.name ?? state.model, a: state.a || sampleOf(model), b: model?.pairs ? state.b : "" };
}

export function same(one: Typed, other: Typed): boolean {
  return one.model === other.model && one.a === other.a && one.b === other.b;
}

/** A text that was read, and what was asked for to get it. */
export interface Read {
  typed: Typed;
  seen: Seen;
}

export interface Reading {
  wanted: Typed;
  busy: boolean;
  trouble: string | null;
  look: (text: Typed) => Promise<void>;
  cancel: () => void;
}

/** Reads what the address names, whenever that is another text or another model; `look` reads what was typed. */
export function useReading(
  source: Source,
  state: State,
  setState: SetState,
  before: Read | null,
  onRead: (read: Read) => void,
): Reading {
  const models = source.about.models;
  const wanted = typedIn(state, models);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const underway = useRef<AbortController | null>(null);
  const read = useRef<Typed | null>(before?.typed ?? null);

  const look = async (text: Typed): Promise<void> => {
    underway.current?.abort();
    const control = new AbortController();
    underway.current = control;
    setBusy(true);
    setTrouble(null);
    try {
      const model = models.find((each) => each.name === text.model);
      const pairs = model?.pairs ?? false;
      const second = pairs && text.b.trim() !== "" ? text.b : "";
      const request = { model: text.model, text_a: text.a, text_b: second === "" ? null : second };
      const typed = { ...text, b: second };
      read.current = typed;
      const seen = await source.seen!(request, control.signal);
      if (control.signal.aborted) return;
      onRead({ typed, seen });
      const sample = sampleOf(model);
      const a = text.a === sample && state.a !== sample ? "" : text.a;
      // A model of one text leaves the second where it is, for the next model.
      setState({ model: text.model, a, ...(pairs ? { b: second } : {}) });
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
  // The first text, and one that comes with an address: a link that was opened, a step back, a head of another model.
  useEffect(() => {
    if (read.current === null || !same(read.current, wanted)) void look(wanted);
  }, [wanted.model, wanted.a, wanted.b]);
  return { wanted, busy, trouble, look, cancel };
}
