/** Where the cells of a matrix are on the screen. */

export interface Room {
  /** Pixels for the cells, without the labels. */
  width: number;
  height: number;
  queries: number;
  keys: number;
}

/** The upper left corner of cell (0, 0), in pixels from that of the room, and how large a cell is. */
export interface Place {
  x: number;
  y: number;
  cell: number;
}

export interface Cell {
  query: number;
  key: number;
}

const LARGEST = 96; // pixels a cell
const LARGEST_AT_FIRST = 60;

/** All of the matrix in sight. */
export function whole({ width, height, queries, keys }: Room): Place {
  const cell = Math.min(width / Math.max(1, keys), height / Math.max(1, queries), LARGEST_AT_FIRST);
  return { x: 0, y: 0, cell: Math.max(cell, 0.01) };
}

/** Nothing but matrix in the room, as far as there is enough of it. */
export function kept(place: Place, room: Room): Place {
  const least = whole(room).cell;
  const cell = Math.min(Math.max(place.cell, least), Math.max(LARGEST, least));
  const bound = (at: number, count: number, size: number): number =>
    Math.min(0, Math.max(at, Math.min(0, size - count * cell)));
  return { cell, x: bound(place.x, room.keys, room.width), y: bound(place.y, room.queries, room.height) };
}

/** `factor` times as large; the point (x, y) of the room stays where it is. */
export function zoomed(place: Place, factor: number, x: number, y: number, room: Room): Place {
  const cell = kept({ ...place, cell: place.cell * factor }, room).cell;
  const grown = cell / place.cell;
  return kept({ cell, x: x - (x - place.x) * grown, y: y - (y - place.y) * grown }, room);
}

/** The query and key at a point of the room; null beside the matrix. */
export function cellAt(place: Place, x: number, y: number, room: Room): Cell | null {
  const query = Math.floor((y - place.y) / place.cell);
  const key = Math.floor((x - place.x) / place.cell);
  const inside = query >= 0 && key >= 0 && query < room.queries && key < room.keys;
  return inside && x >= 0 && y >= 0 && x < room.width && y < room.height ? { query, key } : null;
}

/** Where one looks, the same in a window of another size: the token at the upper left corner, and how much nearer than all of it. */
export function printBox(place: Place, room: Room): string {
  const zoom = place.cell / whole(room).cell;
  const corner = [-place.y / place.cell, -place.x / place.cell].map((at) => Number(at.toFixed(2)) + 0);
  return zoom <= 1.0001 ? "" : [...corner, Number(zoom.toFixed(3))].join(",");
}

/** The place that such words mean in a room; all of it where they mean nothing. */
export function parseBox(said: string, room: Room): Place {
  const [query, key, zoom, ...rest] = said.split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  const all = whole(room);
  if (![query, key, zoom].every(Number.isFinite) || rest.length > 0) return all;
  const cell = kept({ ...all, cell: all.cell * zoom! }, room).cell;
  return kept({ cell, x: -key! * cell, y: -query! * cell }, room);
}
