/** What one view keeps in the address: declared in the view's folder, listed in its `View.settings`. */
import type { State } from "./state";

/** What a setting belongs to: when another one of these is shown, it goes. */
export type Scope = "page" | "atlas" | "model" | "tokens" | "token";

export interface Setting<T = unknown> {
  /** As it is in links. */
  readonly name: string;
  readonly scope: Scope;
  /** Whether one can go back over its changes. */
  readonly isStep: boolean;
  /** Its value. */
  of(state: Pick<State, "settings">): T;
  /** The `settings` of a change that gives it another value. */
  to(value: T): Record<string, string>;
}

/** How a value is written in a link; "" is the value of a link that does not name it. */
interface Written<T> {
  parse: (text: string) => T;
  print: (value: T) => string;
}

export const AS_IS: Written<string> = { parse: (text) => text, print: (text) => text };

export function setting<T>(
  name: string,
  { parse, print }: Written<T>,
  { scope = "page", isStep = false }: { scope?: Scope; isStep?: boolean } = {},
): Setting<T> {
  return {
    name,
    scope,
    isStep,
    of: ({ settings }) => parse(settings[name] ?? ""),
    to: (value) => ({ [name]: print(value) }),
  };
}
