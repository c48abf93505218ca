/** Who looks at whom in a sentence, told in short. */

import type { TypicalSentence } from "../data/api";

export interface Look {
  from: number;
  to: number;
  weight: number;
}

const SPECIAL = /^(\[[A-Z]+\d*\]|<[^<>\s]+>)$/;

export function isSpecial(word: string): boolean {
  return SPECIAL.test(word);
}

/** What the words look at: themselves, or the other text of cross attention. */
export function targetsOf(sentence: TypicalSentence): readonly string[] {
  return sentence.keys ?? sentence.words;
}

/** Every word with what it looks at most; places that are not there are left out. */
export function looksOf(sentence: TypicalSentence): Look[] {
  const count = targetsOf(sentence).length;
  return sentence.words.flatMap((_, from): Look[] => {
    const [to, weight] = [sentence.looks_at[from], sentence.weights[from]];
    return to === undefined || weight === undefined || !(to >= 0 && to < count) ? [] : [{ from, to, weight }];
  });
}

/** How much each target gets from the words that look at it most. */
export function received(sentence: TypicalSentence): number[] {
  const sums = targetsOf(sentence).map(() => 0);
  for (const { to, weight } of looksOf(sentence)) sums[to] = (sums[to] ?? 0) + weight;
  return sums;
}

/** Weaker than this share of the strongest, a link does not stand for what the head does. */
const WORTH_IT = 0.25;

/**
 * The strongest links, strongest first. Half of them at least go from word to word, where such links are not much weaker than
 * those to special tokens; the same words are not told twice.
 */
export function strongest(sentence: TypicalSentence, most: number): Look[] {
  const targets = targetsOf(sentence);
  const told = new Set<string>();
  const all = looksOf(sentence)
    .sort((one, other) => other.weight - one.weight)
    .filter(({ from, to }) => {
      const name = `${sentence.words[from]}\n${targets[to]}`;
      return !told.has(name) && told.add(name);
    });
  const limit = WORTH_IT * (all[0]?.weight ?? 0);
  const plain = all.filter(
    ({ from, to, weight }) =>
      weight >= limit && !isSpecial(targets[to] ?? "") && !isSpecial(sentence.words[from] ?? ""),
  );
  const first = plain.slice(0, Math.ceil(most / 2));
  const rest = all.filter((look) => !first.includes(look)).slice(0, most - first.length);
  return [...first, ...rest].sort((one, other) => other.weight - one.weight);
}

/** Where no link is stronger than this, attention is spread. */
const SPREAD = 0.25;

/** What most of the words do alike, in words; "" where they do not. */
export function habitOf(sentence: TypicalSentence): string {
  const looks = looksOf(sentence);
  const most = Math.max(0, ...looks.map(({ weight }) => weight));
  if (looks.length > 0 && most < SPREAD) return `spread out: no word gives another more than ${most.toFixed(2)}`;
  const targets = targetsOf(sentence);
  const counts = new Map<string, number>();
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const near: Record<number, string> = { [-1]: "the word before", 0: "themselves", 1: "the next word" };
  for (const { from, to } of looks) {
    const step = sentence.keys === null ? near[to - from] : undefined;
    if (step) add(step);
    // A target that is also near is counted twice: what more words share is told.
    const target = targets[to] ?? "";
    if (isSpecial(target)) add(target);
  }
  const [name, count] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? ["", 0];
  if (looks.length === 0 || count < looks.length / 2) return "";
  return `${count} of ${looks.length} words look most at ${name}`;
}

/** How much like itself the head is here. */
export function likenessWords(likeness: number): string {
  if (likeness >= 0.9) return "just what it usually does";
  if (likeness >= 0.7) return "much what it usually does";
  if (likeness >= 0.4) return "something of what it usually does";
  return "little of what it usually does";
}
