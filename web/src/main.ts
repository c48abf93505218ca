/**
 * Where the bundle begins.
 *
 * In a page that has #headscope it fills it: from #headscope-data when there is one, else from the server the page
 * came from. As a widget's module it exports `render`.
 */
import { render as draw, h } from "preact";
import { fileSource, type WidgetModel, widgetSource } from "./data/embedded";
import { serverSource, UnknownToServer } from "./data/server";
import type { Source } from "./data/source";
import { inWords } from "./parts/hooks";
import { App } from "./shell/app";

const ACCESS = "headscope-access";

/** The access token of the link that was opened, taken out of the address; null when it has none. */
function takeAccess(): string | null {
  const fragment = new URLSearchParams(location.hash.slice(1));
  // A short number is the state's own `token`.
  const given = [...fragment].find(([name, value]) => /^(access|token)$/.test(name) && value.length > 8)?.[1];
  if (given === undefined) return null;
  const rest = new URLSearchParams([...fragment].filter(([, value]) => value !== given)).toString();
  history.replaceState(null, "", location.pathname + (rest === "" ? "" : `#${rest}`));
  return given;
}

/** The server, by the token of the link or that of an earlier visit. Only one that the server has taken is kept. */
async function served(): Promise<Source> {
  const given = takeAccess();
  const kept = localStorage.getItem(ACCESS);
  try {
    const source = await serverSource(given ?? kept ?? "");
    if (given !== null) localStorage.setItem(ACCESS, given);
    return source;
  } catch (error) {
    if (given === null || kept === null || !(error instanceof UnknownToServer)) throw error;
    return serverSource(kept);
  }
}

async function pageSource(): Promise<Source> {
  const data = document.querySelector<HTMLScriptElement>("script#headscope-data");
  return data === null ? served() : fileSource(document, data);
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
