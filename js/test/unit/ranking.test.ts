import { expect, test } from "vitest";
import { headRgb } from "../../src/drawing/colors";
import { order, reach, shades } from "../../src/views/token/ranking";

test("the largest comes first, ties by place, and what is hidden not at all", () => {
  expect(order([0.1, 0.4, 0.1, 0.4], null)).toEqual([1, 3, 0, 2]);
  expect(order([0.1, 0.4, 0.1, 0.4], [0, 1, 0, 0])).toEqual([3, 0, 2]);
});

test("a full bar is a round number that holds the largest weight", () => {
  expect([0.004, 0.3, 0.5, 0.97].map(reach)).toEqual([0.01, 0.5, 0.5, 1]);
});

test("a token is shaded in the colours of the heads that look at it", () => {
  const heads = [
    { name: "0-0", head: 0, weights: [1, 0, 0] },
    { name: "0-3", head: 3, weights: [0, 0, 1] },
  ];
  const ranked = {
    labels: ["a", "b", "c"],
    heads,
    mean: [0.5, 0, 0.5],
    order: [0, 2, 1],
    exact: true,
  };
  const [first, second, third] = shades(ranked, false);
  expect(first).toBe(`rgb(${headRgb(0, false).join(" ")} / 0.42)`);
  expect(second).toBe("");
  expect(third).toBe(`rgb(${headRgb(1, false).join(" ")} / 0.42)`);
});
