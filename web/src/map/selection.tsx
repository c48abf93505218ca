/** The heads that were selected: listed, switched off, or held against the rest. */

import { useState } from "preact/hooks";
import type { AtlasLook } from "../atlas/data";
import { selected } from "../atlas/settings";
import type { SelectionRow } from "../data/api";
import { SwitchOffButton } from "../headpage/switchoff";
import { Busy, Trouble } from "../parts/controls";
import { useLoaded } from "../parts/hooks";
import { shown } from "../parts/numbers";
import type { ViewProps } from "../shell/view";

interface Props {
  props: ViewProps;
  look: AtlasLook;
}

export function SelectionBar({ props, look }: Props) {
  const { source, setState } = props;
  const { atlas, stack } = look;
  const [open, setOpen] = useState<"list" | "compare" | null>(null);
  const heads = [...look.selected].sort((one, other) => place(one) - place(other));
  const named = heads.map((head) => (atlas.stacks.length > 1 ? `${stack.name} ${head}` : head)).join(", ");
  const button = (what: "list" | "compare", title: string) => (
    <button
      type="button"
      class="hs-button"
      aria-expanded={open === what}
      onClick={() => setOpen(open === what ? null : what)}
    >
      {title}
    </button>
  );
  return (
    <div class="mp-selection" role="group" aria-label="Selected heads">
      <span>{heads.length} selected</span>
      {source.headPage && button("list", "List")}
      {source.selection && heads.length < stack.layers * stack.heads && button("compare", "Compare with the rest")}
      <SwitchOffButton
        {...{ heads: named, model: atlas.model, command: atlas.command, source, setState }}
        title="Switch off"
      />
      <button type="button" class="hs-button" onClick={() => setState({ settings: selected.to([]) })}>
        Clear the selection
      </button>
      {open === "list" && <List {...{ props, look, heads }} />}
      {open === "compare" && source.selection && <Comparison {...{ props, look, heads }} />}
    </div>
  );
}

function place(name: string): number {
  const [layer = 0, head = 0] = name.split(".").map(Number);
  return 1000 * layer + head;
}

type PartProps = Props & { heads: readonly string[] };

/** Every head with what its card says first; the names to copy. */
function List({ props: { source, setState }, look: { atlas, stack }, heads }: PartProps) {
  const [copied, setCopied] = useState("");
  const names = heads.join(",");
  const pages = useLoaded(
    (signal) =>
      Promise.all(
        heads.map((name) => {
          const [layer = 0, head = 0] = name.split(".").map(Number);
          return source.headPage!(atlas.id, stack.name, layer, head, signal);
        }),
      ),
    [source, atlas.id, stack.name, names],
  );
  return (
    <div class="mp-part">
      <p class="at-about">
        <code>{names}</code>{" "}
        <button
          type="button"
          class="hs-button"
          onClick={() => void navigator.clipboard.writeText(names).then(() => setCopied(names))}
        >
          {copied === names ? "Copied" : "Copy"}
        </button>
      </p>
      {pages.error && <Trouble>{pages.error}</Trouble>}
      {pages.busy && <Busy>Loading the heads …</Busy>}
      <ul aria-label="What the selected heads do">
        {pages.value?.map(({ layer, head, card }) => (
          <li key={`${layer}.${head}`}>
            <button type="button" class="hp-link" onClick={() => setState({ stack: stack.name, layer, heads: [head] })}>
              {layer}.{head}
            </button>{" "}
            {card?.[0]?.text}
          </li>
        ))}
      </ul>
    </div>
  );
}

const COLUMNS = ["measure", "selected", "rest", "difference", "95 % interval"];

/** A row a number: its mean in the selection, in the rest, and the difference. */
function Comparison({ props: { source }, look: { atlas, stack }, heads }: PartProps) {
  const { value, error, busy } = useLoaded(
    (signal) => source.selection!(atlas.id, stack.name, heads, signal),
    [source, atlas.id, stack.name, heads.join(",")],
  );
  return (
    <div class="mp-part" aria-busy={busy}>
      {error && <Trouble>{error}</Trouble>}
      {busy && value === null && <Busy>Comparing the heads …</Busy>}
      {value && !error && (
        <>
          <p class="at-about">{value.about}</p>
          <table class="mp-table">
            <thead>
              <tr>
                {COLUMNS.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {value.rows.map((row, index) => (
                <Row key={index} row={row} />
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}

function Row({ row }: { row: SelectionRow }) {
  const isClear = row.verdict === "above" || row.verdict === "below";
  return (
    <tr class={isClear ? "mp-clear" : undefined} data-verdict={row.verdict}>
      <th scope="row">{row.unit && row.unit !== "1" ? `${row.title} (${row.unit})` : row.title}</th>
      <td>{shown(row.selected)}</td>
      <td>{shown(row.rest)}</td>
      <td>{shown(row.difference)}</td>
      <td>{row.low == null ? "–" : `${shown(row.low)} to ${shown(row.high)}`}</td>
    </tr>
  );
}
