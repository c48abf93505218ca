/** Switching heads off: in Try it where their model is here, else by the command that brings it. */

import { useState } from "preact/hooks";
import type { HeadPage } from "../data/api";
import { off } from "../shell/edit";
import type { SetState } from "../shell/state";

interface ChosenProps {
  /** The heads, as Try it and the command line name them. */
  heads: string;
  title: string;
  model: string;
  /** What opens the atlas with its model in the explorer. */
  command: string;
  /** Whether the model is here. */
  canTry: boolean;
  setState: SetState;
}

export function SwitchOffButton({ heads, title, model, command, canTry, setState }: ChosenProps) {
  const [told, tell] = useState(false);
  if (canTry)
    return (
      <button type="button" class="hs-button" onClick={() => setState({ view: "try", model, settings: off.to(heads) })}>
        {title}
      </button>
    );
  return (
    <>
      <button type="button" class="hs-button" aria-expanded={told} onClick={() => tell(!told)}>
        {title}
      </button>
      {told && (
        <p class="hp-about hp-command">
          Type <code>{command}</code>, open Try it and switch off <code>{heads}</code>.
        </p>
      )}
    </>
  );
}

/** The button for the head of a page, beside what the model loses without it. */
export function SwitchOff({ page, ...given }: Omit<ChosenProps, "heads" | "title"> & { page: HeadPage }) {
  return (
    <div class="hp-off">
      {page.without && <span>{page.without}</span>}
      <SwitchOffButton {...given} heads={page.named} title="Switch it off" />
    </div>
  );
}
