/** Hiding a word. */

export const MASK = "[MASK]";

const isWord = (sign: string | undefined): boolean => sign !== undefined && /[\p{L}\p{M}\p{N}'’-]/u.test(sign);

export interface Marked {
  text: string;
  /** Where the cursor goes: behind the mask. */
  cursor: number;
}

/** The text with a mask over what is selected, over the word that the cursor is in, or at the cursor. */
export function masked(text: string, start: number, end: number): Marked {
  let [from, to] = [start, end];
  if (from === to) {
    // Between letters, or right behind or before a word: that word.
    while (from > 0 && isWord(text[from - 1])) from--;
    while (to < text.length && isWord(text[to])) to++;
  } else {
    while (from < to && /\s/.test(text[from]!)) from++;
    while (to > from && /\s/.test(text[to - 1]!)) to--;
  }
  const before = text.slice(0, from);
  const after = text.slice(to);
  const left = before !== "" && isWord(before.at(-1)) ? " " : "";
  const right = isWord(after[0]) ? " " : "";
  return { text: `${before}${left}${MASK}${right}${after}`, cursor: before.length + left.length + MASK.length };
}
