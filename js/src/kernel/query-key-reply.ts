import type { InsideReply } from "./protocol";

/** One token's vector against those of all others, in one head: what a reply to `inside` holds. */
export interface Inside {
  /** Tokens of the other side. */
  n: number;
  /** Dimensions of a query or key. */
  dim: number;
  /** The query (key, for side "to") of the token asked about. */
  own: readonly number[];
  /** [n, dim + 3 + parts]: the others' vectors, dot product, score, weight, and the parts. */
  rows: Float32Array;
  /** What dot products are multiplied with. */
  scale: number;
  /** What else a score is made of, by Python's names. */
  parts: readonly string[];
  /** The score of the row's sink, which takes a share of the softmax. */
  sink: number | null;
}

/** The reply as it came, if its shape is what it should be. */
export function insideOf(
  data: unknown,
  shape: readonly number[],
  content: InsideReply,
): Inside | null {
  const { own, parts, scale, sink } = content;
  if (!(data instanceof Float32Array)) return null;
  const [n = 0, width = 0] = shape;
  if (width !== own.length + 3 + parts.length) return null;
  return { n, dim: own.length, own, rows: data, scale, parts, sink };
}

const at = (inside: Inside, token: number, column: number) =>
  inside.rows[token * (inside.dim + 3 + inside.parts.length) + column]!;

export const component = (inside: Inside, token: number, d: number) => at(inside, token, d);
export const product = (inside: Inside, token: number, d: number) =>
  inside.own[d]! * at(inside, token, d);
export const dot = (inside: Inside, token: number) => at(inside, token, inside.dim);
export const score = (inside: Inside, token: number) => at(inside, token, inside.dim + 1);
export const weight = (inside: Inside, token: number) => at(inside, token, inside.dim + 2);
export const part = (inside: Inside, token: number, index: number) =>
  at(inside, token, inside.dim + 3 + index);

/** Scores of -3e38 and less are what models write for "not to be seen". */
export const isHidden = (inside: Inside, token: number) => score(inside, token) < -1e30;

/** Tokens by weight, largest first; ties go to the lower index. */
export function byWeight(inside: Inside): number[] {
  const all = Array.from({ length: inside.n }, (_, token) => token);
  return all.sort((a, b) => weight(inside, b) - weight(inside, a) || a - b);
}

/**
 * What each dimension adds to a token's score over the mean of all tokens that can be seen: the softmax knows only
 * differences.
 */
export function contributions(inside: Inside, token: number): Float32Array {
  const seen = byWeight(inside).filter((other) => !isHidden(inside, other));
  return Float32Array.from({ length: inside.dim }, (_, d) => {
    const mean = seen.reduce((sum, other) => sum + component(inside, other, d), 0) / seen.length;
    return inside.own[d]! * (component(inside, token, d) - mean) * inside.scale;
  });
}

/** Dimensions in their own order, or the one that speaks most for a token first. */
export function dimensions(inside: Inside, forToken: number | null): number[] {
  const all = Array.from({ length: inside.dim }, (_, d) => d);
  if (forToken === null) return all;
  const adds = contributions(inside, forToken);
  return all.sort((a, b) => adds[b]! - adds[a]! || a - b);
}

/** The largest size of a component, and of a product; the ends of their colours. */
export function reaches(inside: Inside): { vectors: number; products: number } {
  let [vectors, products] = [0, 0];
  for (const own of inside.own) vectors = Math.max(vectors, Math.abs(own));
  for (let token = 0; token < inside.n; token++) {
    for (let d = 0; d < inside.dim; d++) {
      const size = Math.abs(component(inside, token, d));
      vectors = Math.max(vectors, size);
      products = Math.max(products, size * Math.abs(inside.own[d]!));
    }
  }
  return { vectors, products };
}
