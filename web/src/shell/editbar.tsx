/** The edit that is in force, above the views of a text: which attention of it to show. */
import { Switch } from "../parts/controls";
import { how, off, shows } from "./edit";
import type { SetState, State } from "./state";

const WORDS = { zero: "switched off", uniform: "looking evenly" };

export function EditBar({ state, setState }: { state: State; setState: SetState }) {
  const heads = off.of(state).trim();
  if (heads === "") return null;
  return (
    <div class="hs-editbar" role="group" aria-label="Edit of the model">
      <span>
        Edit: <strong>{heads}</strong> {WORDS[how.of(state)]}
      </span>
      <span class="hs-field">
        <span class="hs-label">Attention</span>
        <Switch
          label="Attention before or after the edit"
          value={shows.of(state)}
          options={[
            ["before", "before", "of the unedited model"],
            ["after", "after", "of the edited model"],
            ["difference", "difference", "after minus before: blue is more attention, orange is less"],
          ]}
          onChange={(value) => setState({ settings: shows.to(value) })}
        />
      </span>
      <button type="button" class="hs-button" onClick={() => setState({ view: "try" })}>
        Change
      </button>
      <button
        type="button"
        class="hs-button"
        onClick={() => setState({ settings: { ...off.to(""), ...shows.to("before") } })}
      >
        Remove
      </button>
    </div>
  );
}
