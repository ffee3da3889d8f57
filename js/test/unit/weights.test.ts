import { expect, test } from "vitest";
import { itemWeights, meanWeights } from "../../src/weights";

/** Two rows, three columns; weights 0.16, 0.48, 0.36 and 0.04, 0, 0.96, coded by hand. */
const map = {
  codes: Uint8Array.of(102, 177, 153, 51, 0, 250),
  rows: 2,
  cols: 3,
};
const firstIsSpecial = [1, 0, 0];

function rounded(weights: ArrayLike<number>): number[] {
  return Array.from(weights, (w) => Math.round(w * 100) / 100);
}

test("a token's row is where its attention goes, its column where it comes from", () => {
  expect(rounded(itemWeights(map, "from", 0, "show", firstIsSpecial))).toEqual([0.16, 0.48, 0.36]);
  expect(rounded(itemWeights(map, "to", 2, "show", firstIsSpecial))).toEqual([0.36, 0.96]);
});

test("without a token, each column's mean is the attention it receives", () => {
  expect(rounded(itemWeights(map, "from", null, "show", firstIsSpecial))).toEqual([
    0.1, 0.24, 0.66,
  ]);
});

test("renormalising shares each row among the tokens that are not special", () => {
  expect(rounded(itemWeights(map, "from", 0, "renormalise", firstIsSpecial))).toEqual([
    0, 0.57, 0.43,
  ]);
  expect(rounded(itemWeights(map, "to", 2, "renormalise", firstIsSpecial))).toEqual([0.43, 1]);
});

test("a row that looks at special tokens only stays a row of numbers", () => {
  const lost = { codes: Uint8Array.of(255, 0), rows: 1, cols: 2 };
  expect(rounded(itemWeights(lost, "from", 0, "renormalise", [1, 0]))).toEqual([0, 0]);
});

test("heads are averaged weight by weight", () => {
  expect([
    ...meanWeights([
      [0.25, 0.75],
      [0.75, 0.25],
    ]),
  ]).toEqual([0.5, 0.5]);
});
