/**
 * Where the bundle begins.
 *
 * In a page that has #headscope it fills it: from #headscope-data when there is one, else from the server the page
 * came from. As a widget's module it exports `render`.
 */
import { h, render as draw } from "preact";
import { App } from "./app";
import { inWords } from "./hooks";
import type { Source } from "./source";
import { fileSource } from "./sources/file";
import { serverSource } from "./sources/server";
import { type WidgetModel, widgetSource } from "./sources/widget";
import "./style.css";

const ACCESS = "headscope-access";

/** The server's access token, from the link that was opened or from an earlier visit; it is taken out of the address. */
function takeAccess(): string {
  const inFragment = new URLSearchParams(location.hash.slice(1));
  const inQuery = new URLSearchParams(location.search);
  // A short number is the state's own `token`.
  const given = [inFragment.get("access"), inFragment.get("token"), inQuery.get("token")].find(
    (value) => value !== null && value.length > 8,
  );
  if (given === undefined || given === null) return localStorage.getItem(ACCESS) ?? "";
  localStorage.setItem(ACCESS, given);
  inFragment.delete("access");
  if (inFragment.get("token") === given) inFragment.delete("token");
  const rest = inFragment.toString();
  history.replaceState(null, "", location.pathname + (rest === "" ? "" : `#${rest}`));
  return given;
}

async function pageSource(): Promise<Source> {
  const data = document.getElementById("headscope-data");
  return data === null ? serverSource(takeAccess()) : fileSource(document, data);
}

async function start(place: HTMLElement): Promise<void> {
  try {
    draw(h(App, { source: await pageSource() }), place);
  } catch (error) {
    place.textContent = inWords(error);
    place.setAttribute("role", "alert");
  }
}

/** The widget of a notebook (see anywidget.dev). */
function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  let made = 0;
  const show = (): void => {
    try {
      draw(h(App, { source: widgetSource(model), key: made++ }), el);
    } catch (error) {
      draw(null, el);
      el.textContent = inWords(error);
    }
  };
  show();
  model.on("change:about", show);
  return () => {
    model.off("change:about", show);
    draw(null, el);
  };
}

const place = document.getElementById("headscope");
if (place !== null && place.dataset.started === undefined) {
  place.dataset.started = "";
  void start(place);
}

export default { render };
