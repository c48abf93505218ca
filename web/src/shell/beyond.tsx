/** A link that names a stack, layer, head or token which this text has not: it is said what is shown instead. */
import type { Seen } from "../data/api";
import { axesOf } from "../data/tokens";
import { within } from "./choices";
import type { SetState, State } from "./state";

const counted = (what: string, numbers: readonly number[], count: number): string =>
  `no ${what}${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")} (there are 0 to ${count - 1})`;

/** What `asked` names beyond `seen`, in words; empty when all of it is there. */
export function beyond(asked: State, seen: Seen): string[] {
  const shown = within(asked, seen);
  const stack = seen.stacks.find((each) => each.name === shown.stack);
  if (stack === undefined) return [];
  const words: string[] = [];
  if (asked.stack !== "" && asked.stack !== stack.name)
    words.push(`no ${asked.stack.slice(0, 40)} (the ${stack.name} is shown)`);
  if (asked.layer >= stack.layers) words.push(counted("layer", [asked.layer], stack.layers));
  const heads = asked.heads.filter((head) => head >= stack.heads);
  if (heads.length > 0) words.push(counted("head", heads, stack.heads));
  if (asked.token !== null && shown.token === null) {
    const axis = axesOf(seen, stack, asked.level)[asked.side === "query" ? "queries" : "keys"];
    words.push(counted(asked.level === "word" ? "word" : "token", [asked.token], axis.length));
  }
  return words;
}

interface Props {
  asked: State;
  seen: Seen;
  setState: SetState;
}

export function Beyond({ asked, seen, setState }: Props) {
  const words = beyond(asked, seen);
  if (words.length === 0) return null;
  const { stack, layer, heads, token } = within(asked, seen);
  return (
    <p class="hs-beyond" role="note">
      <span>What the address names is not all here: {words.join(", ")}.</span>
      <button type="button" class="hs-button" onClick={() => setState({ stack, layer, heads, token })}>
        Put it right
      </button>
    </p>
  );
}
