/** Maps that were asked for stay, as long as there is room. */
import type { LayerMaps } from "./source";

const ROOM = 256 * 1024 * 1024; // bytes: a text of 512 tokens in a model of 32 x 32 heads

type Load = (stack: string, layer: number) => Promise<LayerMaps>;

/** `load`, asked once for each layer: one that is on its way is not asked for again, one that failed is. */
export function remembered(load: Load): Load {
  const cache = new Cache<LayerMaps>(ROOM);
  const coming = new Map<string, Promise<LayerMaps>>();
  return (stack, layer) => {
    const key = `${stack}/${layer}`;
    const known = cache.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const underway = coming.get(key);
    if (underway !== undefined) return underway;
    const asked = load(stack, layer)
      .then((maps) => {
        cache.set(key, maps, maps.codes.byteLength + (maps.second?.byteLength ?? 0));
        return maps;
      })
      .finally(() => coming.delete(key));
    coming.set(key, asked);
    return asked;
  };
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
