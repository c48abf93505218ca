/** The tokens that may ask, as a list to choose from. */

import { useEffect, useRef } from "preact/hooks";
import { shortened } from "../data/tokens";

interface QueriesProps {
  labels: readonly string[];
  chosen: number;
  found: readonly boolean[];
  onChoose: (piece: number) => void;
  onOver: (piece: number | null) => void;
}

export function Queries({ labels, chosen, found, onChoose, onOver }: QueriesProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = list.current;
    const option = box?.children[chosen] as HTMLElement | undefined;
    if (!box || !option) return;
    // scrollIntoView would move the page as well
    if (option.offsetTop < box.scrollTop || option.offsetTop + option.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = option.offsetTop - box.clientHeight / 2;
    if (option.offsetLeft < box.scrollLeft || option.offsetLeft + option.offsetWidth > box.scrollLeft + box.clientWidth)
      box.scrollLeft = option.offsetLeft - box.clientWidth / 2;
  }, [chosen]);
  // Only a mouse that moves points at something: a list that scrolls under it does not.
  const mouse = useRef("");
  const onMove = (event: PointerEvent) => {
    const place = `${event.screenX} ${event.screenY}`;
    if (event.pointerType !== "mouse" || place === mouse.current) return;
    mouse.current = place;
    const option = (event.target as Element).closest(".nv-query");
    onOver(option === null ? null : [...(list.current?.children ?? [])].indexOf(option));
  };
  const onKey = (event: KeyboardEvent) => {
    const by = {
      ArrowDown: 1,
      ArrowRight: 1,
      ArrowUp: -1,
      ArrowLeft: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -labels.length,
      End: labels.length,
    }[event.key];
    if (by === undefined) return;
    onChoose(Math.max(0, Math.min(labels.length - 1, chosen + by)));
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="nv-queries"
      ref={list}
      role="listbox"
      tabIndex={0}
      aria-label="Query token"
      aria-activedescendant={`nv-query-${chosen}`}
      onKeyDown={onKey}
      onPointerMove={onMove}
      onPointerLeave={() => onOver(null)}
    >
      {labels.map((label, index) => (
        <div
          key={index}
          id={`nv-query-${index}`}
          class={`nv-query${found[index] ? " nv-found" : ""}`}
          role="option"
          aria-selected={index === chosen}
          title={label.length > 14 ? label : undefined}
          onClick={() => onChoose(index)}
        >
          {shortened(label, 40)}
        </div>
      ))}
    </div>
  );
}
