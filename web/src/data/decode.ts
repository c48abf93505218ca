/** Bytes as they are stored. */
import type { LayerMaps } from "./source";

/** Raw-deflated bytes, inflated. */
export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function inflateJson<T>(bytes: Uint8Array): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await inflate(bytes))) as T;
}

export function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (native !== undefined) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** The codes of one head: (query, key), a view into the layer's; weights.ts says what they stand for. */
export function headCodes(maps: LayerMaps, head: number): Uint8Array {
  const size = maps.queries * maps.keys;
  return maps.codes.subarray(head * size, (head + 1) * size);
}

/** Keeps what was used last, as long as it fits in so many bytes. */
export class Cache<T> {
  #items = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  constructor(readonly limit: number) {}

  get(key: string): T | undefined {
    const item = this.#items.get(key);
    if (item === undefined) return undefined;
    this.#items.delete(key);
    this.#items.set(key, item);
    return item.value;
  }

  set(key: string, value: T, bytes: number): void {
    this.delete(key);
    this.#items.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest] of this.#items) {
      if (this.#bytes <= this.limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const item = this.#items.get(key);
    if (item !== undefined) {
      this.#bytes -= item.bytes;
      this.#items.delete(key);
    }
  }
}
