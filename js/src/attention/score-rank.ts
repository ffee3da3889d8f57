/** A head's place among all heads by one score, 1 for the one that stands out. */
export interface Rank {
  place: number;
  of: number;
}

/** What ranking needs of a score: `values` [layer][head], null where undefined. */
interface RankedScore {
  values: readonly (readonly (number | null)[])[];
  notable: "high" | "low";
  /** Where a value stands for a name, the names; such scores have no ranks. */
  categories?: string[];
}

/**
 * Where head `layer`-`head` stands by `score`, counted from the notable end; null where it has no value or a name for one.
 * As in Python's `best()`, ties go to the lowest layer, then head.
 */
export function rank(score: RankedScore, layer: number, head: number): Rank | null {
  const own = score.values[layer]?.[head] ?? null;
  if (own === null || Number.isNaN(own) || score.categories?.length) return null;
  const sign = score.notable === "low" ? -1 : 1;
  let place = 1;
  let of = 0;
  score.values.forEach((row, l) => {
    row.forEach((value, h) => {
      if (value === null || Number.isNaN(value)) return;
      of++;
      const ahead = sign * (value - own);
      if (ahead > 0 || (ahead === 0 && (l < layer || (l === layer && h < head)))) place++;
    });
  });
  return { place, of };
}
