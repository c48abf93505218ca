/** Switching heads off: in Try it where their model is here, else by the command that brings it. */

import { useState } from "preact/hooks";
import type { HeadPage } from "../data/api";
import type { Source } from "../data/source";
import { off } from "../shell/edit";
import type { SetState } from "../shell/state";

interface ChosenProps {
  /** The heads, as Try it and the command line name them. */
  heads: string;
  title: string;
  model: string;
  /** What opens the atlas with its model in the explorer. */
  command: string;
  source: Pick<Source, "predict" | "about" | "kind">;
  setState: SetState;
}

export function SwitchOffButton({ heads, title, model, command, source, setState }: ChosenProps) {
  const [told, tell] = useState(false);
  if (source.predict !== undefined && source.about.models.some(({ name }) => name === model))
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
          {source.kind === "file" ? "In the folder of this page, type " : "Type "}
          <code>{command}</code>, open Try it and switch off <code>{heads}</code>.
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
