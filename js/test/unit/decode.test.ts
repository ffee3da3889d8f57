import { expect, test } from "vitest";
import { itemWeights, meanWeights, remaining, withoutSpecials } from "../../src/attention/decode";

/** Two rows, three columns; weights 0.16, 0.48, 0.36 and 0.04, 0, 0.96, coded by hand. */
const map = {
  codes: Uint8Array.of(102, 177, 153, 51, 0, 250),
  rows: 2,
  columns: 3,
};
const firstIsSpecial = [1, 0, 0];

function rounded(weights: ArrayLike<number>): number[] {
  return Array.from(weights, (w) => Math.round(w * 100) / 100);
}

test("a token's row is where its attention goes, its column where it comes from", () => {
  expect(rounded(itemWeights(map, "from", 0, null, firstIsSpecial))).toEqual([0.16, 0.48, 0.36]);
  expect(rounded(itemWeights(map, "to", 2, null, firstIsSpecial))).toEqual([0.36, 0.96]);
});

test("renormalising shares each row among the tokens that are not special", () => {
  const left = remaining(map, firstIsSpecial);
  expect(rounded(left)).toEqual([0.84, 0.96]);
  expect(rounded(itemWeights(map, "from", 0, left, firstIsSpecial))).toEqual([0, 0.57, 0.43]);
  expect(rounded(itemWeights(map, "to", 2, left, firstIsSpecial))).toEqual([0.43, 1]);
});

test("a row that looks at special tokens only stays a row of numbers", () => {
  const lost = { codes: Uint8Array.of(255, 0), rows: 1, columns: 2 };
  const left = remaining(lost, [1, 0]);
  expect(rounded(itemWeights(lost, "from", 0, left, [1, 0]))).toEqual([0, 0]);
});

test("a map without special tokens is blank at their rows and columns", () => {
  expect([...withoutSpecials(map, [0, 1], firstIsSpecial, null)]).toEqual([0, 177, 153, 0, 0, 0]);
  const grown = withoutSpecials(map, [0, 0], firstIsSpecial, remaining(map, firstIsSpecial));
  // 255 * sqrt(0.48 / 0.84) and 255 * sqrt(0.36 / 0.84)
  expect([...grown.slice(0, 3)]).toEqual([0, 193, 167]);
});

test("heads are averaged weight by weight", () => {
  expect([
    ...meanWeights([
      [0.25, 0.75],
      [0.75, 0.25],
    ]),
  ]).toEqual([0.5, 0.5]);
});
