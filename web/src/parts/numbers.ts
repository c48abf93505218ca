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

/** Decimals that an error leaves some meaning: a unit of the last one is no less than the error. */
function decimals(error: number): number {
  return error > 0 ? Math.floor(-Math.log10(error) + 1e-9) : 6;
}

/** Decimals of a weight: three, four when it is small, and none that `error`, the largest there is, leaves no meaning. */
function places(weight: number, error: number): number {
  return Math.min(Math.abs(weight) < 0.01 ? 4 : 3, Math.max(1, decimals(error)));
}

/** A weight as a number, with the decimals of `places`. Changes have a sign. */
export function asNumber(weight: number, error = 0, signed = false): string {
  if (Number.isNaN(weight)) return "–";
  if (signed && weight !== 0) return `${weight < 0 ? "−" : "+"}${asNumber(Math.abs(weight), error)}`;
  if (weight === 0) return "0";
  const digits = places(weight, error);
  if (weight < 0.5 * 10 ** -digits) return `<${(10 ** -digits).toFixed(digits)}`;
  return weight.toFixed(digits);
}

/** A weight for a table: what its error leaves meaning, up to six decimals. */
export function stored(weight: number, error: number): number {
  return Number(weight.toFixed(Math.min(6, Math.max(1, decimals(error)))));
}

/** A number and its standard error, to the same decimals: one digit of the error, two where it begins with 1 or 2. */
export function withError(value: number, error: number, among = 0): string {
  const size = Math.floor(Math.log10(error));
  const places = (error / 10 ** size < 3 ? 1 : 0) - size;
  if (!Number.isFinite(places) || places > 3)
    return `${shown(value, 3, among)} ± ${shown(error, 3, among)}`.replace("± <", "± under");
  const said = (number: number): string => number.toFixed(Math.max(0, places)).replace("-", "−");
  return `${said(value)} ± ${said(error)}`;
}

/** A weight on a scale: as `asNumber` writes it, without zeros at its end. */
export function withinError(value: number, error: number): string {
  return String(Number(value.toFixed(places(value, error)))).replace("-", "−");
}
