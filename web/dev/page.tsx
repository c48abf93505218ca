/** A page that shows the fixture: ?tokens=512&causal&biased&rotated choose what is made up. */

import { render } from "preact";
import { App } from "../src/shell/app";
import { fixture } from "./fixture";
import { SMALL } from "./made";

const asked = new URLSearchParams(location.search);
const count = (name: "layers" | "heads" | "tokens" | "width") => Number(asked.get(name)) || SMALL[name];
const source = fixture({
  layers: count("layers"),
  heads: count("heads"),
  tokens: count("tokens"),
  width: count("width"),
  causal: asked.has("causal"),
  biased: asked.has("biased"),
  rotated: asked.has("rotated"),
});
const place = document.getElementById("headscope");
if (place) render(<App source={source} />, place);
