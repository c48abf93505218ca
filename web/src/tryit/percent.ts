/** A probability in per cent, with the digits that small ones need. */
export function percent(probability: number): string {
  const value = 100 * probability;
  if (value >= 10) return `${value.toFixed(1)} %`;
  if (value >= 0.01 || value === 0) return `${value.toFixed(2)} %`;
  return "< 0.01 %";
}
