/** What was found, in sentences whose heads are links. */

import type { AtlasData } from "../data/api";
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

/** What was found, in sentences whose heads are links. */
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

export interface Part {
  text: string;
  /** The head that the text names, layer-major; null for words between. */
  head: number | null;
}

const NAMED = /\b[Hh]eads? (\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)(?![\d.]*\d|%)/g;
const LISTED = /: (\d+\.\d+(?:(?:, | and )\d+\.\d+)*)(?=\.(?:\s|$)| and \d+ more)/g;
const HEAD = /\d+\.\d+/g;

function indexOf(name: string, grid: Grid): number | null {
  const [layer = 0, head = 0] = name.split(".").map(Number);
  return layer < grid.layers && head < grid.heads ? layer * grid.heads + head : null;
}

/**
 * A finding cut at the heads that it names: those that follow the word head, and lists with one of these in it. Numbers that look
 * like heads stay numbers.
 */
export function partsOf(finding: string, grid: Grid): Part[] {
  const spots = new Map<number, string>();
  const names = new Set<string>();
  const note = (found: RegExpMatchArray): void => {
    const list = found[1] ?? "";
    const from = (found.index ?? 0) + found[0].length - list.length;
    for (const one of list.matchAll(HEAD)) {
      spots.set(from + one.index, one[0]);
      names.add(one[0]);
    }
  };
  for (const found of finding.matchAll(NAMED)) note(found);
  for (const found of finding.matchAll(LISTED)) {
    if ((found[1]?.match(HEAD) ?? []).some((name) => names.has(name))) note(found);
  }
  const parts: Part[] = [];
  let at = 0;
  for (const [from, name] of [...spots].sort(([one], [other]) => one - other)) {
    const head = indexOf(name, grid);
    if (head === null) continue;
    if (from > at) parts.push({ text: finding.slice(at, from), head: null });
    parts.push({ text: name, head });
    at = from + name.length;
  }
  if (at < finding.length) parts.push({ text: finding.slice(at), head: null });
  return parts;
}

/** Whether a finding is about this stack: with several, it must say so, as in "decoder: …". */
export function isAbout(finding: string, stack: string, atlas: AtlasData): boolean {
  return atlas.stacks.length < 2 || finding.toLowerCase().startsWith(`${stack}:`);
}

/** The first head that a finding about the stack names. */
export function firstNamed(atlas: AtlasData, stack: Grid): number | null {
  for (const finding of atlas.findings) {
    if (!isAbout(finding, stack.name, atlas)) continue;
    const head = partsOf(finding, stack).find((part) => part.head !== null)?.head;
    if (head !== undefined && head !== null) return head;
  }
  return null;
}
