/** What was found, in sentences whose heads are links. */

import type { AtlasData, Finding } from "../data/api";
import type { Grid } from "../parts/headgrid";
import type { AtlasLook } from "./data";

const FEW = 8;

/** Numbers as they are set, not as they are typed: a minus is no hyphen. */
export function withMinus(text: string): string {
  return text.replace(/(^|[\s(])-(?=\d)/g, "$1−");
}

interface Props {
  look: AtlasLook;
  /** Whether there is room for all of them. */
  wide: boolean;
  open: (index: number) => void;
}

/** What was found in the stack that is shown, in sentences whose heads are links. */
export function Findings({ look: { atlas, stack }, wide, open }: Props) {
  const findings = findingsOf(atlas, stack);
  if (findings.length === 0) return null;
  return (
    <details class="at-findings" open={wide || findings.length <= FEW}>
      <summary>Findings ({findings.length})</summary>
      <ul>
        {findings.map(({ parts }, index) => (
          <li key={index}>
            {parts.map(({ text, head }, at) => {
              const place = indexOf(head, stack);
              return place === null ? (
                withMinus(text)
              ) : (
                <button type="button" class="at-name" key={at} onClick={() => open(place)}>
                  {text}
                </button>
              );
            })}
          </li>
        ))}
      </ul>
    </details>
  );
}

function findingsOf(atlas: AtlasData, stack: Grid): Finding[] {
  return atlas.findings.filter((finding) => finding.stack === stack.name);
}

/** A head written layer.head, counted layer by layer; null for none and for one that the grid does not have. */
function indexOf(name: string | null | undefined, grid: Grid): number | null {
  if (name == null) return null;
  const [layer = 0, head = 0] = name.split(".").map(Number);
  return layer < grid.layers && head < grid.heads ? layer * grid.heads + head : null;
}
