/** "from": the token that attends, a row of the map; "to": the one attended to, a column. */
export type Side = "from" | "to";

/** One head's map as it crosses the wire: uint8 [rows, columns], round(255 * sqrt(weight)). */
export interface CodedMap {
  codes: Uint8Array;
  rows: number;
  columns: number;
}

/** The weight that each code stands for. */
export const decoded: Float32Array = Float32Array.from(
  { length: 256 },
  (_, code) => (code / 255) ** 2,
);

/**
 * What each row is divided by to renormalise it over tokens that are not special: float [rows]. A row that looks at
 * special tokens only keeps its weights.
 */
export function remaining(map: CodedMap, specialTo: ArrayLike<number>): Float32Array {
  const left = new Float32Array(map.rows);
  for (let row = 0; row < map.rows; row++) {
    let sum = 0;
    for (let col = 0; col < map.columns; col++) {
      if (!specialTo[col]) sum += decoded[map.codes[row * map.columns + col]!]!;
    }
    left[row] = sum > 0 ? sum : 1;
  }
  return left;
}

/**
 * The weights between one item and all of the other side, from codes: right to within 0.004, for what follows the
 * pointer. Side "from" is the item's row, "to" its column.
 *
 * `left`, from `remaining`, renormalises: special tokens have weight 0 and each row is divided by what is left.
 */
export function itemWeights(
  map: CodedMap,
  side: Side,
  index: number,
  left: Float32Array | null,
  specialTo: ArrayLike<number>,
): Float32Array {
  const { codes, rows, columns } = map;
  const weight = (row: number, column: number) =>
    left && specialTo[column]
      ? 0
      : decoded[codes[row * columns + column]!]! / (left ? left[row]! : 1);
  return side === "from"
    ? Float32Array.from({ length: columns }, (_, column) => weight(index, column))
    : Float32Array.from({ length: rows }, (_, row) => weight(row, index));
}

/**
 * The map with special tokens blank on both sides; with `left`, each row divided by what is left of it.
 */
export function withoutSpecials(
  map: CodedMap,
  specialFrom: ArrayLike<number>,
  specialTo: ArrayLike<number>,
  left: Float32Array | null,
): Uint8Array {
  const { codes, rows, columns } = map;
  const blanked = new Uint8Array(codes.length);
  for (let row = 0; row < rows; row++) {
    if (specialFrom[row]) continue;
    const grow = left ? 1 / Math.sqrt(left[row]!) : 1;
    for (let column = 0; column < columns; column++) {
      if (specialTo[column]) continue;
      const at = row * columns + column;
      blanked[at] = Math.min(255, Math.round(codes[at]! * grow));
    }
  }
  return blanked;
}

/** The mean over heads of their weights, each float [n]. */
export function meanWeights(heads: readonly ArrayLike<number>[]): Float32Array {
  const mean = new Float32Array(heads[0]?.length ?? 0);
  for (const weights of heads) {
    for (let i = 0; i < mean.length; i++) mean[i]! += weights[i]! / heads.length;
  }
  return mean;
}
