/** A notebook's widget: the trait `about` is the JSON of `Embedded`, `blob` has its chunks one after the other. */
import type { Embedded } from "./api";
import { embeddedSource } from "./embedded";
import type { Source } from "./source";

/** The part of an anywidget model that is used. */
export interface WidgetModel {
  get(name: string): unknown;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

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
