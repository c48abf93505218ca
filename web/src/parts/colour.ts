/** Colours: the ramps of `headscope.figures.style.colours`, and its palette for heads and kinds. */
import palette from "../../../src/headscope/figures/style/palette.json";

export const LEVELS = 64;

type Pair = readonly [number, number];
const BLUE = 255;
const PLUM = 335;
const ORANGE = 50;

/** LEVELS colours whose lightness, hue and chroma change in even steps of OKLCH (Ottosson 2020). */
export function ramp(lightFrom: number, lightTo: number, hue: Pair, chroma: Pair): string[] {
  return Array.from({ length: LEVELS }, (_, level) => {
    const at = level / (LEVELS - 1);
    return oklch(
      lightFrom + (lightTo - lightFrom) * at,
      chroma[0] + (chroma[1] - chroma[0]) * at,
      hue[0] + (hue[1] - hue[0]) * at,
    );
  });
}

/** A colour as #rrggbb; what the screen cannot show is clipped. */
export function oklch(lightness: number, chroma: number, hue: number): string {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const hex = linear.map((value) => {
    const light = Math.min(1, Math.max(0, value));
    const shown = light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055;
    return Math.round(shown * 255)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${hex.join("")}`;
}

const even = (list: string[], from: number): string[] => list.filter((_, index) => index % 2 === from);

export type RampName = "share" | "amount" | "layer" | "signed";

const LIGHT: Record<RampName, string[]> = {
  share: ramp(0.975, 0.34, [BLUE, BLUE], [0.006, 0.125]),
  amount: ramp(0.975, 0.34, [PLUM, PLUM], [0.006, 0.125]),
  layer: ramp(0.79, 0.38, [85, 300], [0.1, 0.12]),
  signed: [
    ...even(ramp(0.45, 0.97, [ORANGE, ORANGE], [0.125, 0.004]), 0),
    ...even(ramp(0.97, 0.36, [BLUE - 5, BLUE - 5], [0.004, 0.13]), 1),
  ],
};

const DARK: Record<RampName, string[]> = {
  share: ramp(0.27, 0.93, [BLUE, BLUE], [0.015, 0.06]),
  amount: ramp(0.27, 0.93, [PLUM, PLUM], [0.015, 0.06]),
  layer: ramp(0.9, 0.58, [85, 300], [0.1, 0.12]),
  signed: [
    ...even(ramp(0.86, 0.27, [ORANGE, ORANGE], [0.09, 0.008]), 0),
    ...even(ramp(0.27, 0.93, [BLUE, BLUE], [0.008, 0.06]), 1),
  ],
};

/** The colours of a ramp, from its low end to its high end. */
export function rampOf(name: RampName, dark: boolean): readonly string[] {
  return (dark ? DARK : LIGHT)[name];
}

/** The colour at `share` (0 to 1, clipped) of a ramp. */
export function rampColour(name: RampName, dark: boolean, share: number): string {
  const at = Math.round(Math.min(1, Math.max(0, share)) * (LEVELS - 1));
  return rampOf(name, dark)[at] ?? "";
}

/** #rrggbb as a pixel of canvas.ts' `picture`: 0xAABBGGRR. */
export function pixel(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** How weights become colours: by their value, by its square root (small weights stand out), or by their share of the largest. */
export const SCALES = ["root", "linear", "max"] as const;
export type Scale = (typeof SCALES)[number];

/** Where on the ramp a weight is, 0 to 1; `largest` is the largest weight of its map. */
export function placed(weight: number, scale: Scale, largest = 1): number {
  if (scale === "max") return largest > 0 ? weight / largest : 0;
  return scale === "root" ? Math.sqrt(Math.max(0, weight)) : weight;
}

/*
 * The palette is the figures' own. Its first eight colours of heads were searched for the largest least distance in OKLab:
 * 0.198 on a light page and 0.204 on a dark one for normal sight, 0.115 and 0.124 with protanopia or deuteranopia, 0.09 with
 * tritanopia (Machado et al. 2009). The next eight stay 0.075 from all others. Every one has a contrast of 3 to the page. A head
 * keeps its hue when the page turns dark, to 15 degrees. The six quieter ones for kinds, which fill large cells, are 0.095
 * and 0.104 apart for every sight.
 */
const { heads: HEADS, kinds: KINDS } = palette;

/** The colour of a head: told apart by lightness as well as hue. */
export function headColour(head: number, dark: boolean): string {
  const colours = dark ? HEADS.dark : HEADS.light;
  return colours[head % colours.length] ?? "";
}

/** The colour of a kind of heads; those of heads where there are many kinds. */
export function kindColour(kind: number, dark: boolean): string {
  return (dark ? KINDS.dark : KINDS.light)[kind] ?? headColour(kind, dark);
}

/** #rrggbb with an opacity. */
export function translucent(colour: string, opacity: number): string {
  const value = Number.parseInt(colour.slice(1), 16);
  return `rgba(${value >> 16}, ${(value >> 8) & 255}, ${value & 255}, ${opacity.toFixed(3)})`;
}
