/** A sentence whose words are joined by arcs: from the word that looks to the one that it looks at. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Link {
  from: number;
  to: number;
  weight: number;
  /** Whether it was asked for, and then right or wrong; else it is any other. */
  verdict?: "right" | "wrong";
}

/** Where a word stands, in pixels of the box around all of them. */
export interface Place {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Arc {
  path: string;
  /** The point of the arrow, and which way it points. */
  end: readonly [number, number];
  down: boolean;
}

const LEAST = 0.03; // attention below this has no arc
const ROOM = 30; // pixels above a line of words, as in headpage.css
const GAP = 3;

/** An arc above the line for words of one line, else a curve between the lines. */
export function arcBetween(from: Place, to: Place): Arc {
  const [x1, x2] = [(from.left + from.right) / 2, (to.left + to.right) / 2];
  if (from === to) {
    const y = to.top - 1;
    return {
      path: `M${x1 - 5} ${y}C${x1 - 9} ${y - 15} ${x1 + 9} ${y - 15} ${x1 + 5} ${y}`,
      end: [x1 + 5, y],
      down: true,
    };
  }
  if (Math.abs(from.top - to.top) < 4) {
    const y = to.top - GAP;
    const high = (Math.min(ROOM - 8, 7 + 0.09 * Math.abs(x2 - x1)) * 4) / 3;
    return { path: `M${x1} ${from.top - 1}C${x1} ${y - high} ${x2} ${y - high} ${x2} ${y}`, end: [x2, y], down: true };
  }
  const down = to.top > from.top;
  const [y1, y2] = down ? [from.bottom, to.top - GAP] : [from.top - 1, to.bottom + GAP];
  const middle = (y1 + y2) / 2;
  return { path: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`, end: [x2, y2], down };
}

interface Props {
  links: readonly Link[];
  /** The word whose arc is drawn alone, if any. */
  at?: number | null;
  /** What the arcs say, in words. */
  label: string;
  /** Elements with data-word are the words that look; those with data-key what they look at, where that is another text. */
  children: ComponentChildren;
}

export function Arcs({ links, at = null, label, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [places, setPlaces] = useState<{ words: Place[]; keys: Place[]; size: string } | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const around = element.getBoundingClientRect();
      const placesOf = (name: string): Place[] =>
        Array.from(element.querySelectorAll(`[data-${name}]`), (word) => {
          const { left, top, right, bottom } = word.getBoundingClientRect();
          return {
            ...{ left: left - around.left, right: right - around.left },
            ...{ top: top - around.top, bottom: bottom - around.top },
          };
        });
      const words = placesOf("word");
      const keys = placesOf("key");
      setPlaces({ words, keys: keys.length > 0 ? keys : words, size: `${around.width} ${around.height}` });
    };
    measure();
    const watched = new ResizeObserver(measure);
    watched.observe(element);
    return () => watched.disconnect();
  }, [links]);
  const drawn = links
    .filter(({ from, weight }) => (at === null ? weight >= LEAST : from === at))
    .sort((one, other) => one.weight - other.weight);
  return (
    <div class="hp-arcs" ref={box}>
      {children}
      {places && (
        <svg viewBox={`0 0 ${places.size}`} role="img" aria-label={label}>
          {drawn.map((link) => {
            const [from, to] = [places.words[link.from], places.keys[link.to]];
            return from && to && <Drawn key={`${link.from} ${link.to}`} link={link} arc={arcBetween(from, to)} />;
          })}
        </svg>
      )}
    </div>
  );
}

function Drawn({ link, arc }: { link: Link; arc: Arc }) {
  const strength = Math.min(1, link.weight);
  const [x, y] = arc.end;
  const [half, tall] = [2 + 1.5 * strength, arc.down ? -5 : 5];
  return (
    <g
      class={`hp-arc${link.verdict ? ` hp-${link.verdict}` : ""}`}
      opacity={0.2 + 0.8 * Math.sqrt(strength)}
      data-from={link.from}
      data-to={link.to}
    >
      <path d={arc.path} stroke-width={0.7 + 2.5 * strength} />
      <path class="hp-point" d={`M${x - half} ${y + tall}h${2 * half}L${x} ${y}z`} />
    </g>
  );
}
