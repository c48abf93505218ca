/** Numbers as they are written. */

/**
 * A number with as many digits as tell heads apart: 0.123, 12.3, 1234, 0.0007, 1.2e−5.
 *
 * `among` is the size of the largest number beside it: what is nothing next to that is "< 0.001".
 */
export function shown(value: number | null | undefined, digits = 3, among = 0): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  const smallest = 10 ** -digits;
  if (among >= 10 * smallest && size < smallest)
    return value > 0 ? `< ${smallest.toFixed(digits)}` : `> −${smallest.toFixed(digits)}`;
  if (size < 0.1 * smallest) return value.toExponential(1).replace(/-/g, "−");
  const places =
    size < smallest
      ? digits + 1
      : size >= 100
        ? Math.max(0, digits - 3)
        : size >= 10
          ? Math.max(0, digits - 2)
          : digits;
  return value.toFixed(places).replace("-", "−");
}

/** The size of the largest of some numbers. */
export function largestOf(values: readonly (number | null | undefined)[]): number {
  return values.reduce<number>(
    (most, value) => (typeof value === "number" && Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
    0,
  );
}

/** A weight as a number: three decimals, four when it is small; more would be more than is stored. Changes have a sign. */
export function asNumber(weight: number, signed = false): string {
  if (weight === 0) return "0";
  if (signed || weight < 0) return `${weight < 0 ? "−" : "+"}${asNumber(Math.abs(weight))}`;
  if (weight < 0.00005) return "<0.0001";
  return weight.toFixed(weight < 0.01 ? 4 : 3);
}

/** A number with no more decimals than its error leaves: 0.12 for an error of 0.005. */
export function withinError(value: number, error: number): string {
  const decimals = Math.max(1, Math.min(4, Math.floor(-Math.log10(error))));
  return String(Number(value.toFixed(decimals))).replace("-", "−");
}
