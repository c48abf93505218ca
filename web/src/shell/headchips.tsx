/** The heads of a layer as coloured buttons. */
import { useRef } from "preact/hooks";
import type { StackShape } from "../data/api";
import { headColour } from "../parts/colour";
import { onlyOne, shownHeads, toggled } from "./choices";
import type { SetState, State } from "./state";

interface Props {
  state: State;
  setState: SetState;
  stack: StackShape;
  dark: boolean;
  /** One head at a time. */
  single: boolean;
}

export function HeadChips({ state, setState, stack, dark, single }: Props) {
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
          aria-label={`Head ${state.layer}.${head}`}
          title={`Head ${state.layer}.${head}${single ? "" : " (double click: only this one)"}`}
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
