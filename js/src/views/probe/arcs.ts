/** Arcs over a line of words, from one place to another. */

/** How high an arc of so many pixels rises: longer ones stand over shorter ones, up to `most`. */
export function rise(width: number, most: number): number {
  return Math.min(most, 6 + Math.abs(width) / 8);
}

/** The path of an arc between two places on the ground line `base`, as an SVG path. */
export function arc(from: number, to: number, base: number, most: number): string {
  // A cubic curve reaches three quarters of the way to its control points.
  const top = base - rise(to - from, most) / 0.75;
  return `M${from} ${base}C${from} ${top} ${to} ${top} ${to} ${base}`;
}

/** The first word to show of a sentence, so that the words in question are near its start. */
export function firstShown(numbers: readonly number[], before = 5): number {
  const first = Math.min(...numbers) - before;
  // A dropped word or two would save nothing.
  return first > 3 ? first : 1;
}
