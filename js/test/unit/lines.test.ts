import { expect, test } from "vitest";
import {
  type Choice,
  codeOf,
  linesOf,
  passes,
  specialShare,
  weakShare,
} from "../../src/attention/lines";

/** Weights 0.25 and 0.75, 0.01 and 0.99, as codes: round(255 * sqrt(weight)). */
const map = Uint8Array.of(128, 221, 26, 254);
const everywhere = { first: 0, last: 9 };

function choice(more: Partial<Choice> = {}): Choice {
  return {
    maps: [map],
    columns: 2,
    fromPlace: Int32Array.of(0, 1),
    toPlace: Int32Array.of(0, 1),
    left: null,
    minWeight: 0.02,
    ...more,
  };
}

function drawn(...args: Parameters<typeof linesOf>): string[] {
  const lines = linesOf(...args);
  return Array.from(
    { length: lines.count },
    (_, i) => `${lines.head[i]}: ${lines.from[i]}-${lines.to[i]} ${lines.weight[i]!.toFixed(2)}`,
  );
}

test("a line for each weight that is not too small", () => {
  expect(drawn(choice(), everywhere)).toEqual(["0: 0-0 0.25", "0: 0-1 0.75", "0: 1-1 0.99"]);
  expect(drawn(choice({ minWeight: 0.3 }), everywhere)).toEqual(["0: 0-1 0.75", "0: 1-1 0.99"]);
});

test("a weight of zero is never drawn", () => {
  const maps = [Uint8Array.of(0, 255, 255, 0)];
  expect(drawn(choice({ maps, minWeight: 0 }), everywhere)).toEqual(["0: 0-1 1.00", "0: 1-0 1.00"]);
});

test("of one token, its row or its column", () => {
  expect(drawn(choice(), everywhere, { side: "from", index: 1 })).toEqual(["0: 1-1 0.99"]);
  expect(drawn(choice(), everywhere, { side: "to", index: 1 })).toEqual([
    "0: 0-1 0.75",
    "0: 1-1 0.99",
  ]);
});

test("hidden items have no lines, and the others move up", () => {
  const hidden = choice({ fromPlace: Int32Array.of(-1, 0), toPlace: Int32Array.of(-1, 0) });
  expect(drawn(hidden, everywhere)).toEqual(["0: 0-0 0.99"]);
});

test("lines wholly above or below the window are left out, those that cross it stay", () => {
  const place = Int32Array.of(0, 10);
  const far = choice({ fromPlace: place, toPlace: place });
  expect(drawn(far, { first: 4, last: 6 })).toEqual(["0: 0-1 0.75".replace("0-1", "0-10")]);
});

test("renormalised weights are compared with the smallest one drawn", () => {
  const left = [Float32Array.of(0.75, 0.99)];
  const rest = choice({ left, toPlace: Int32Array.of(-1, 0), minWeight: 0.9 });
  expect(drawn(rest, everywhere)).toEqual(["0: 0-0 1.00", "0: 1-0 1.00"]);
});

test("the share of the weight in lines too weak to draw", () => {
  // 0.25 + 0.75 + 0.01 + 0.99 = 2, of which 0.01 and 0.25 are under 0.3.
  expect(weakShare(choice())).toBeCloseTo(0.01 / 2, 2);
  expect(weakShare(choice({ minWeight: 0.3 }))).toBeCloseTo(0.26 / 2, 2);
});

test("the share that is too weak counts renormalised weights, and only those shown", () => {
  const left = [Float32Array.of(0.25, 0.01)];
  const rest = choice({ left, toPlace: Int32Array.of(0, -1), minWeight: 0.5 });
  expect(weakShare(rest)).toBe(0);
  expect(weakShare(choice({ toPlace: Int32Array.of(0, -1), minWeight: 0.1 }))).toBeCloseTo(
    0.01 / 0.26,
    2,
  );
});

test("what other tokens give to special ones", () => {
  expect(specialShare([map], 2, [1, 0], [1, 0])).toBeCloseTo(0.01, 2);
  expect(specialShare([map], 2, [0, 0], [1, 0])).toBeCloseTo(0.26 / 2, 2);
});

test("a weight that rounds to its own code reaches the threshold", () => {
  // 0.04 = 0.2 squared, and 255 * 0.2 = 51 exactly.
  expect(codeOf(0.04)).toBe(51);
  expect(codeOf(0)).toBe(1);
});

test("a filter lets through the texts that it names, in that direction", () => {
  expect(passes("a->b", "from", 0)).toBe(true);
  expect(passes("a->b", "from", 1)).toBe(false);
  expect(passes("a->b", "to", 1)).toBe(true);
  expect(passes("a->b", "to", 0)).toBe(false);
  expect(passes("b->b", "from", 1)).toBe(true);
  expect(passes("all", "to", 1)).toBe(true);
});
