/** Mouse, wheel and fingers on a matrix. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Cell, cellAt, kept, type Place, type Room, zoomed } from "./place";

export interface Handling {
  room: Room;
  place: Place;
  /** Pixels of labels left of and above the cells. */
  margin: { left: number; top: number };
  setPlace: (place: Place) => void;
  /** In a notebook the wheel alone scrolls the page. */
  wheelNeedsControl: boolean;
  /** A tap on another cell of the row that is held holds it on. */
  onClick: (side: "query" | "key", index: number, how: "toggle" | "hold") => void;
}

interface Point {
  x: number;
  y: number;
}

const STILL = 4; // pixels a click may move

export function useHandling(canvas: { readonly current: HTMLCanvasElement | null }, handling: Handling) {
  const [at, setAt] = useState<Point | null>(null);
  // A finger points at nothing once it is lifted: the cell that it tapped stays.
  const [tapped, setTapped] = useState<Cell | null>(null);
  const latest = useRef(handling);
  latest.current = handling;
  const down = useRef(new Map<number, Point>());
  const travelled = useRef(0);

  const pointOf = (event: MouseEvent): Point => {
    const bounds = canvas.current!.getBoundingClientRect();
    const { margin } = latest.current;
    return { x: event.clientX - bounds.left - margin.left, y: event.clientY - bounds.top - margin.top };
  };

  useEffect(() => {
    const element = canvas.current;
    // Not a JSX handler: those cannot say that they will stop the page from scrolling.
    const turn = (event: WheelEvent): void => {
      const { room, place, setPlace, wheelNeedsControl } = latest.current;
      if (wheelNeedsControl && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const lines = event.deltaMode === 0 ? event.deltaY / 100 : event.deltaY / 3;
      const { x, y } = pointOf(event);
      setPlace(zoomed(place, Math.exp(-Math.max(-3, Math.min(3, lines)) * 0.22), x, y, room));
    };
    element?.addEventListener("wheel", turn, { passive: false });
    return () => element?.removeEventListener("wheel", turn);
  }, []);

  const drag = (event: PointerEvent, point: Point): void => {
    const { room, place, setPlace } = latest.current;
    const before = down.current.get(event.pointerId)!;
    const other = [...down.current].find(([id]) => id !== event.pointerId)?.[1];
    travelled.current += Math.abs(point.x - before.x) + Math.abs(point.y - before.y);
    if (other !== undefined) {
      const factor = distance(point, other) / Math.max(1, distance(before, other));
      setPlace(zoomed(place, factor, (point.x + other.x) / 2, (point.y + other.y) / 2, room));
    } else if (travelled.current > STILL) {
      setPlace(kept({ ...place, x: place.x + point.x - before.x, y: place.y + point.y - before.y }, room));
    }
    down.current.set(event.pointerId, point);
  };

  const handlers = {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return;
      if (down.current.size === 0) travelled.current = 0;
      down.current.set(event.pointerId, pointOf(event));
      canvas.current?.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent): void => {
      const point = pointOf(event);
      if (down.current.has(event.pointerId)) drag(event, point);
      if (event.pointerType === "touch") return;
      setTapped(null);
      setAt(point);
    },
    onPointerUp: (event: PointerEvent): void => {
      const wasDown = down.current.delete(event.pointerId);
      if (!wasDown || travelled.current > STILL || down.current.size > 0) return;
      const { room, place, onClick } = latest.current;
      const { x, y } = pointOf(event);
      const cell = cellAt(place, Math.max(0, x), Math.max(0, y), room);
      if (cell === null || (x < 0 && y < 0)) return;
      const again = tapped?.query === cell.query && tapped.key === cell.key;
      const isTap = event.pointerType === "touch" && x >= 0 && y >= 0;
      setTapped(isTap && !again ? cell : null);
      if (y < 0) onClick("key", cell.key, "toggle");
      else onClick("query", cell.query, isTap && !again ? "hold" : "toggle");
    },
    onPointerCancel: (event: PointerEvent): void => {
      down.current.delete(event.pointerId);
    },
    onPointerLeave: (): void => setAt(null),
  };
  const { queries, keys } = handling.room;
  useEffect(() => setTapped(null), [queries, keys]);
  const over = at === null ? tapped : cellAt(handling.place, at.x, at.y, handling.room);
  return { over, handlers };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
