import type { Side, Special } from "./traits";

/** One head's map as it crosses the wire: uint8 [rows, cols], round(255 * sqrt(weight)). */
export interface CodedMap {
  codes: Uint8Array;
  rows: number;
  cols: number;
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
    for (let col = 0; col < map.cols; col++) {
      if (!specialTo[col]) sum += decoded[map.codes[row * map.cols + col]!]!;
    }
    left[row] = sum > 0 ? sum : 1;
  }
  return left;
}

/**
 * The weights between one item and all of the other side, from codes: right to within 0.004, for what follows the
 * pointer. Side "from" is the item's row, "to" its column; without an item, what each column receives on average.
 *
 * Under "renormalise" special tokens have weight 0 and each row is divided by what is left; under "hide" the caller
 * leaves them out.
 */
export function itemWeights(
  map: CodedMap,
  side: Side,
  index: number | null,
  special: Special,
  specialTo: ArrayLike<number>,
): Float32Array {
  const { codes, rows, cols } = map;
  const left = special === "renormalise" ? remaining(map, specialTo) : null;
  const weight = (row: number, col: number) =>
    left && specialTo[col] ? 0 : decoded[codes[row * cols + col]!]! / (left ? left[row]! : 1);
  if (index === null) {
    const mean = new Float32Array(cols);
    for (let row = 0; row < rows; row++) {
      for (let col = 0; col < cols; col++) mean[col]! += weight(row, col) / rows;
    }
    return mean;
  }
  return side === "from"
    ? Float32Array.from({ length: cols }, (_, col) => weight(index, col))
    : Float32Array.from({ length: rows }, (_, row) => weight(row, index));
}

/** The mean over heads of their weights, each float [n]. */
export function meanWeights(heads: readonly ArrayLike<number>[]): Float32Array {
  const mean = new Float32Array(heads[0]?.length ?? 0);
  for (const weights of heads) {
    for (let i = 0; i < mean.length; i++) mean[i]! += weights[i]! / heads.length;
  }
  return mean;
}
