/** Numbers as people read them: three decimals under one, three figures above. */
export function decimal(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "undefined";
  const size = Math.abs(value);
  return value.toFixed(size < 9.9995 ? 3 : size < 99.95 ? 2 : size < 999.5 ? 1 : 0);
}

/** A number of a scale, without the zeros that say nothing. */
export function tick(value: number): string {
  return String(Number(value.toPrecision(6)));
}
