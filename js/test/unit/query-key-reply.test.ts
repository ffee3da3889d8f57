import { expect, test } from "vitest";
import {
  byWeight,
  contributions,
  dimensions,
  dot,
  type Inside,
  insideOf,
  isHidden,
  part,
  product,
  reaches,
  score,
  weight,
} from "../../src/kernel/query-key-reply";

/** Query (2, -1); keys (1, 0), (0, 2), (-1, 1); scale 1/2; the third token is hidden by a mask. */
const rows = Float32Array.from(
  [
    [1, 0, 2, 1, 0.7, 0],
    [0, 2, -2, -1, 0.3, 0],
    [-1, 1, -3, -3.4e38, 0, -3.4e38],
  ].flat(),
);
const content = { own: [2, -1], scale: 0.5, parts: ["mask"], sink: null };
const inside = insideOf(rows, [3, 6], content) as Inside;

test("a reply is taken apart by its columns", () => {
  expect([inside.n, inside.dim]).toEqual([3, 2]);
  expect([0, 1, 2].map((token) => dot(inside, token))).toEqual([2, -2, -3]);
  expect(score(inside, 1)).toBe(-1);
  expect(weight(inside, 0)).toBeCloseTo(0.7);
  expect(part(inside, 1, 0)).toBe(0);
  expect([0, 1, 2].map((token) => isHidden(inside, token))).toEqual([false, false, true]);
});

test("products add up to the dot product", () => {
  for (const token of [0, 1, 2]) {
    expect(product(inside, token, 0) + product(inside, token, 1)).toBe(dot(inside, token));
  }
});

test("a reply of another shape is refused", () => {
  expect(insideOf(rows, [3, 5], content)).toBeNull();
  expect(insideOf(null, [], content)).toBeNull();
});

test("tokens are ranked by weight, ties by place", () => {
  expect(byWeight(inside)).toEqual([0, 1, 2]);
  const even = insideOf(Float32Array.from([1, 1, 1, 0.5, 1, 1, 1, 0.5]), [2, 4], {
    own: [1],
    scale: 1,
    parts: [],
    sink: null,
  }) as Inside;
  expect(byWeight(even)).toEqual([0, 1]);
});

test("a contribution is what a dimension adds over the mean of what can be seen, as scores", () => {
  // means of the keys seen: (.5, 1); 2 * (1 - .5) / 2 = .5 and -1 * (0 - 1) / 2 = .5
  expect([...contributions(inside, 0)]).toEqual([0.5, 0.5]);
  expect([...contributions(inside, 1)]).toEqual([-0.5, -0.5]);
});

test("dimensions are sorted by what they add for a token", () => {
  expect(dimensions(inside, null)).toEqual([0, 1]);
  // for the third: 2 * (-1 - .5) / 2 = -1.5 and -1 * (1 - 1) / 2 = 0
  expect(dimensions(inside, 2)).toEqual([1, 0]);
});

test("colours reach to the largest component and product", () => {
  expect(reaches(inside)).toEqual({ vectors: 2, products: 2 });
});
