/** A page that carries its data: JSON in #headscope-data, chunks as base64 in script[data-chunk]. */
import type { Embedded } from "./api";
import { fromBase64 } from "./decode";
import { embeddedSource } from "./embedded";
import type { Source } from "./source";

export function fileSource(page: Document, data: Element): Source {
  const elements = new Map<string, Element>();
  for (const element of page.querySelectorAll("script[data-chunk]")) {
    elements.set(element.getAttribute("data-chunk") ?? "", element);
  }
  return embeddedSource("file", JSON.parse(data.textContent ?? "") as Embedded, (key) => {
    const element = elements.get(key);
    return element === undefined ? null : fromBase64((element.textContent ?? "").trim());
  });
}
