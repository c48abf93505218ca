/** Data that came with the page or the widget: see `Embedded` in headscope.pages.shapes. */

import type { Embedded, Neurons, Seen } from "./api";
import { fromBase64, inflate, inflateJson } from "./decode";
import { remembered } from "./remembered";
import { layerMaps, type Source, SourceError } from "./source";

/** How to get those of another head. */
const OTHERS = {
  file: (layer: number, head: number) =>
    `headscope view … --layer ${layer} --head ${head} writes a file that has them.`,
  widget: (layer: number, head: number) => `hs.view(…, layer=${layer}, heads=[${head}]) has them.`,
};

/** `chunk` gives the raw-deflated bytes of a chunk, or null where there is none. */
export function embeddedSource(
  kind: "file" | "widget",
  embedded: Omit<Embedded, "chunks">,
  chunk: (key: string) => Uint8Array | null,
): Source {
  const { about, seen, atlas } = embedded;
  const pages = embedded.head_pages ?? {};
  const stored = (key: string): Uint8Array => {
    const bytes = chunk(key);
    if (bytes === null) throw new SourceError(`This view does not hold “${key}”.`);
    return bytes;
  };
  const source: Source = {
    kind,
    about,
    start: embedded.start ?? "",
    current: seen ?? null,
    ...(seen?.also ? { weighed: weighedSources(kind, about, seen, chunk) } : {}),
    ...(embedded.beside
      ? { beside: embeddedSource(kind, { about, seen: embedded.beside }, (key) => chunk(`beside/${key}`)) }
      : {}),
  };
  source.view = async ({ name }, _, head) => inflateJson(stored(["view", name, ...(head ?? [])].join("/")));
  if (seen) {
    source.maps = remembered(async (stack, layer) =>
      layerMaps(seen, stack, layer, await inflate(stored(`maps/${stack}/${layer}`))),
    );
    if (seen.has_neurons) {
      source.neurons = (stack, layer, head) => {
        const bytes = chunk(`neurons/${stack}/${layer}/${head}`);
        if (bytes === null) {
          const held = seen.neuron_heads?.map((name) => name.replace(/^.*?\//, "").replace("/", "."));
          const where = held?.length ? `, only those of ${held.join(", ")}` : "";
          return Promise.reject(
            new SourceError(
              `The queries and keys of head ${layer}.${head} are not here${where}: there is no room for all with so long a text. ${OTHERS[kind](layer, head)}`,
            ),
          );
        }
        return inflateJson<Neurons>(bytes);
      };
    }
  }
  if (atlas) {
    source.atlas = () => Promise.resolve(atlas);
    if (Object.keys(pages).length > 0) {
      source.headPage = (_, stack, layer, head) => {
        const page = pages[`${stack}/${layer}/${head}`];
        return page === undefined
          ? Promise.reject(
              new SourceError(`There is no page of head ${layer}.${head} of ${stack} here; ${atlas.command} has it.`),
            )
          : Promise.resolve(page);
      };
    }
  }
  return source;
}

/** The text weighed in the other ways that the page holds. */
function weighedSources(
  kind: "file" | "widget",
  about: Embedded["about"],
  { also = [], ...seen }: Seen,
  chunk: (key: string) => Uint8Array | null,
): Record<string, Source> {
  const sources = also.map((stored): [string, Source] => [
    stored.weigh,
    embeddedSource(kind, { about, seen: { ...seen, fine: false, signed: false, ...stored } }, (key) =>
      chunk(key.startsWith("maps/") ? `${stored.weigh}/${key}` : key),
    ),
  ]);
  return Object.fromEntries(sources);
}

/** A page that carries its data: in #headscope-data JSON, or as chunks are, deflated in base64; chunks in script[data-chunk]. */
export async function fileSource(page: Document, data: HTMLScriptElement): Promise<Source> {
  const elements = new Map<string, Element>();
  for (const element of page.querySelectorAll("script[data-chunk]")) {
    elements.set(element.getAttribute("data-chunk") ?? "", element);
  }
  const bytes = (element: Element): Uint8Array => fromBase64((element.textContent ?? "").trim());
  const embedded: Embedded =
    data.type === "application/json" ? JSON.parse(data.textContent ?? "") : await inflateJson(bytes(data));
  return embeddedSource("file", embedded, (key) => {
    const element = elements.get(key);
    return element === undefined ? null : bytes(element);
  });
}

/** The part of an anywidget model that is used. */
export interface WidgetModel {
  get(name: string): unknown;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

/** A notebook's widget: the trait `about` is the JSON of `Embedded`, `blob` has its chunks one after the other. */
export function widgetSource(model: WidgetModel): Source {
  const embedded = JSON.parse(String(model.get("about"))) as Embedded;
  const bytes = bytesOf(model.get("blob"));
  const places = new Map((embedded.chunks ?? []).map((chunk) => [chunk.key, chunk]));
  return embeddedSource("widget", embedded, (key) => {
    const place = places.get(key);
    return place === undefined ? null : bytes.subarray(place.start, place.start + place.length);
  });
}

/** Notebooks give bytes as a DataView, a typed array or a buffer. */
export function bytesOf(value: unknown): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(0);
}
