/** What the atlas and map views keep in the address. */
import { AS_IS, setting } from "../shell/setting";
import { type Kept, parsePick, printPick } from "./filter";

/** The key of what colours the heads; "" for what is best to begin with. */
export const colour = setting("colour", AS_IS, { scope: "atlas" });

/** Heads that were brushed, as layer.head. */
export const selected = setting<string[]>(
  "selected",
  {
    parse: (text) =>
      text
        .split(",")
        .map((head) => head.trim())
        .filter((head) => /^\d+\.\d+$/.test(head)),
    print: (heads) => heads.join(","),
  },
  { scope: "atlas" },
);

/** Which values are kept in sight. */
export const pick = setting<Kept>("x-pick", { parse: parsePick, print: printPick }, { scope: "atlas" });

/** Whether the whole ramp is spent on the values there are. */
export const stretched = setting<boolean>("x-stretch", {
  parse: (text) => text === "1",
  print: (is) => (is ? "1" : ""),
});

export const ATLAS_SETTINGS = [colour, selected, pick, stretched];
