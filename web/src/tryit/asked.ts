/** Asking a model for predictions. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Predicted, PredictRequest } from "../data/api";
import type { Source } from "../data/source";
import { inWords } from "../parts/hooks";

export interface Asked {
  busy: boolean;
  error: string;
  answer: Predicted | null;
  /** What the answer is for. */
  request: PredictRequest | null;
}

const NOTHING: Asked = { busy: false, error: "", answer: null, request: null };

/** Asking for predictions: one question at a time, the newest counts. */
export function usePrediction(source: Source) {
  const [asked, setAsked] = useState<Asked>(NOTHING);
  const underway = useRef<AbortController | null>(null);
  const sent = useRef("");
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
    sent.current = JSON.stringify(request);
    setAsked((before) => ({ ...before, busy: true, error: "" }));
    try {
      const answer = await source.predict!(request, control.signal);
      if (underway.current === control) setAsked({ busy: false, error: "", answer, request });
    } catch (error) {
      if (underway.current === control)
        setAsked((before) => ({ ...before, busy: false, error: control.signal.aborted ? "" : inWords(error) }));
    }
  };
  return { asked, ask, cancel, sent };
}

/** What the address says should be asked. */
export interface Named {
  /** Another one means: another text or model came with the address, ask at once. */
  texts: string;
  /** Another one means: heads were switched, ask in a moment. */
  heads: string;
  /** Null while there is nothing to ask for, or something that cannot be asked. */
  request: PredictRequest | null;
}

const MOMENT = 350; // milliseconds: typing the names of heads must not flood the model

/** Asks for what the address names, unless that was just asked for. `again` asks with what is in the fields by then. */
export function useFollow(
  named: Named,
  sent: { current: string },
  ask: (request: PredictRequest) => void,
  again: () => void,
): void {
  const before = useRef<Named | null>(null);
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (named.request === null) return undefined;
    const last = before.current;
    before.current = named;
    if (JSON.stringify(named.request) === sent.current) return undefined;
    if (last === null || last.texts !== named.texts) {
      ask(named.request);
      return undefined;
    }
    const timer = setTimeout(() => latest.current(), MOMENT);
    return () => clearTimeout(timer);
  }, [named.texts, named.heads, named.request === null]);
}
