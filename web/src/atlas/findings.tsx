/** What was found, in sentences whose heads are links. */

import type { AtlasLook } from "./data";
import { isAbout, partsOf } from "./names";

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

export function Findings({ look: { atlas, stack }, wide, open }: Props) {
  if (atlas.findings.length === 0) return null;
  return (
    <details class="at-findings" open={wide || atlas.findings.length <= FEW}>
      <summary>Findings ({atlas.findings.length})</summary>
      <ul>
        {atlas.findings.map((finding, index) => (
          <li key={index}>
            {(isAbout(finding, stack.name, atlas) ? partsOf(finding, stack) : [{ text: finding, head: null }]).map(
              ({ text, head }, at) =>
                head === null ? (
                  withMinus(text)
                ) : (
                  <button type="button" class="at-name" key={at} onClick={() => open(head)}>
                    {text}
                  </button>
                ),
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
