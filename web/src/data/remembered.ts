/** Maps that were asked for stay, as long as there is room. */
import { Cache } from "./decode";
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
