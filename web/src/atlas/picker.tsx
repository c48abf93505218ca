/** Choosing what colours the heads: all colourings of a stack by group, with a search. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Colouring } from "../data/api";
import { grouped } from "./filter";

interface Props {
  colourings: readonly Colouring[];
  chosen: Colouring | null;
  onChoose: (key: string) => void;
}

/** A group's name for readers: "offset_attention" is "offset attention". */
export function groupTitle(name: string): string {
  return name.replace(/_/g, " ");
}

export function Picker({ colourings, chosen, onChoose }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const close = (event: Event) => {
      if (!event.composedPath().includes(box.current as EventTarget)) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [open]);
  const at = chosen ? colourings.indexOf(chosen) : -1;
  const step = (by: number) => {
    const next = colourings[(at + by + colourings.length) % colourings.length];
    if (next) onChoose(next.key);
  };
  return (
    <div class="at-picker" ref={box}>
      <button
        type="button"
        class="hs-button"
        aria-label="Previous colouring"
        title="Previous colouring"
        onClick={() => step(-1)}
      >
        ‹
      </button>
      <button
        type="button"
        class="hs-button at-chosen"
        aria-haspopup="listbox"
        aria-expanded={open}
        title={chosen?.about}
        onClick={() => setOpen(!open)}
      >
        <span>{chosen?.title ?? "nothing to colour by"}</span> <span aria-hidden="true">▾</span>
      </button>
      <button
        type="button"
        class="hs-button"
        aria-label="Next colouring"
        title="Next colouring"
        onClick={() => step(1)}
      >
        ›
      </button>
      {open && (
        <List
          {...{ colourings, chosen }}
          onChoose={(key) => {
            onChoose(key);
            setOpen(false);
            box.current?.querySelector<HTMLElement>(".at-chosen")?.focus();
          }}
          onClose={() => {
            setOpen(false);
            box.current?.querySelector<HTMLElement>(".at-chosen")?.focus();
          }}
        />
      )}
    </div>
  );
}

function List({ colourings, chosen, onChoose, onClose }: Props & { onClose: () => void }) {
  const [search, setSearch] = useState("");
  const groups = grouped(colourings, search);
  const all = groups.flatMap(({ members }) => members);
  const [active, setActive] = useState(chosen?.key ?? "");
  const at = Math.max(
    0,
    all.findIndex(({ key }) => key === active),
  );
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const option = list.current?.querySelector<HTMLElement>('[data-active="true"]');
    if (option && list.current) list.current.scrollTop = option.offsetTop - list.current.clientHeight / 2;
  }, [active, search]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (by !== undefined) setActive(all[Math.max(0, Math.min(all.length - 1, at + by))]?.key ?? "");
    else if (event.key === "Enter" && all[at]) onChoose(all[at].key);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="at-popup">
      <input
        ref={field}
        type="search"
        // biome-ignore lint/a11y/noRedundantRoles: without a list it is none yet; the types want the two together
        role="combobox"
        list={undefined}
        aria-label="Search the colourings"
        aria-expanded="true"
        aria-controls="at-options"
        aria-activedescendant={all[at] ? `at-option-${at}` : undefined}
        placeholder="Search: relation, offset, type …"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <div class="at-options" id="at-options" role="listbox" aria-label="Colourings" ref={list}>
        {groups.map(({ name, members }) => (
          <div role="group" aria-label={groupTitle(name)} key={name}>
            <div class="at-group">{groupTitle(name)}</div>
            {members.map((one) => {
              const index = all.indexOf(one);
              return (
                <div
                  key={one.key}
                  id={`at-option-${index}`}
                  class="at-option"
                  role="option"
                  data-key={one.key}
                  data-active={index === at}
                  aria-selected={one === chosen}
                  title={one.about}
                  onPointerMove={() => index !== at && setActive(one.key)}
                  onClick={() => onChoose(one.key)}
                >
                  {one.title}
                </div>
              );
            })}
          </div>
        ))}
        {all.length === 0 && <p class="at-nothing">No measure matches.</p>}
      </div>
    </div>
  );
}
