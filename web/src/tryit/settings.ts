/** What Try it keeps in the address. */
import { AS_IS, setting } from "../shell/setting";

/** The heads that are switched off, in words. */
export const off = setting("x-off", AS_IS, { scope: "model", isStep: true });

export type How = "zero" | "uniform";

/** What a head that is switched off does. */
export const how = setting<How>(
  "x-how",
  { parse: (text) => (text === "uniform" ? "uniform" : "zero"), print: (value) => (value === "zero" ? "" : value) },
  { isStep: true },
);
