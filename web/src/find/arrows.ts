/** The texts that arrows are drawn on, as the page keeps them. */
import type { ArrowLine, DrawnText } from "../data/api";

/** The fewest texts with arrows that a search makes sense with; the server has the last word. */
export const FEWEST = 5;

/** The arrows of a text as numbers of its words: from, to. */
export function wordPairs({ spans, arrows }: DrawnText): { from: number; to: number }[] {
  const place = new Map(spans.map(([start, end], word) => [`${start} ${end}`, word]));
  return arrows.flatMap(([from, to]) => {
    const [source, target] = [place.get(from.join(" ")), place.get(to.join(" "))];
    return source === undefined || target === undefined ? [] : [{ from: source, to: target }];
  });
}

/** The text with an arrow from one word to another; without it, where it was there. */
export function withArrow(text: DrawnText, from: number, to: number): DrawnText {
  const [source, target] = [text.spans[from], text.spans[to]];
  if (source === undefined || target === undefined) return text;
  const said = JSON.stringify([source, target]);
  const others = text.arrows.filter((arrow) => JSON.stringify(arrow) !== said);
  const arrows =
    others.length < text.arrows.length ? others : [...others, [source, target] as [typeof source, typeof target]];
  return { ...text, arrows };
}

/** As `headscope find --arrows` reads them; texts without arrows stay behind. */
export function linesOf(texts: readonly DrawnText[]): ArrowLine[] {
  return texts.filter(({ arrows }) => arrows.length > 0).map(({ text, arrows }) => ({ text, arrows }));
}

export function asJsonLines(texts: readonly DrawnText[]): string {
  return linesOf(texts)
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
}

const KEY = "headscope-arrows";

/** What was drawn in this tab of the browser before. */
export function kept(): DrawnText[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

export function keep(texts: readonly DrawnText[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(texts));
  } catch {
    // Without room for it, or allowed to store nothing, the page goes on.
  }
}
