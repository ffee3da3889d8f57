import type { InsideReply } from "../src/kernel/protocol";

/** Queries and keys that can be worked out by hand: 8 dimensions, the same in every layer and head. */
export const DIM = 8;

export function queryOf(token: number): number[] {
  return Array.from({ length: DIM }, (_, d) => (((token + 2 * d) % 5) - 2) / 2);
}

export function keyOf(token: number): number[] {
  return Array.from({ length: DIM }, (_, d) => (((3 * token + d) % 7) - 3) / 3);
}

/** What the kernel answers to `inside`: rows of vector, dot product, score, weight and, if asked, a mask. */
export function insideReply(
  index: number,
  side: string,
  weights: Float32Array,
  masked: ((token: number) => boolean) | null = null,
): { data: Float32Array; shape: number[]; content: InsideReply } {
  const n = weights.length;
  const [own, others] = side === "from" ? [queryOf(index), keyOf] : [keyOf(index), queryOf];
  const width = DIM + 3 + (masked ? 1 : 0);
  const data = new Float32Array(n * width);
  for (let token = 0; token < n; token++) {
    const vector = others(token);
    const dot = vector.reduce((sum, x, d) => sum + x * own[d]!, 0);
    const hidden = masked?.(token) ? -3.4e38 : 0;
    const row = [...vector, dot, dot * 0.5 + hidden, weights[token]!, ...(masked ? [hidden] : [])];
    data.set(row, token * width);
  }
  const content = { own, scale: 0.5, parts: masked ? ["mask"] : [], sink: null };
  return { data, shape: [n, width], content };
}
