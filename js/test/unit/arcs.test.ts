import { expect, test } from "vitest";
import { arc, firstShown, rise } from "../../src/views/probe/arcs";

test("longer arcs rise higher, but not out of the sky", () => {
  expect(rise(0, 26)).toBeLessThan(rise(80, 26));
  expect(rise(80, 26)).toBe(rise(-80, 26));
  expect(rise(10_000, 26)).toBe(26);
});

test("an arc runs from word to word and reaches its rise half way", () => {
  const numbers = arc(10, 90, 30, 26)
    .match(/-?\d+(\.\d+)?/g)!
    .map(Number);
  const [x0, y0, , up, , , x1, y1] = numbers as [number, ...number[]];
  expect([x0, y0, x1, y1]).toEqual([10, 30, 90, 30]);
  // The middle of a cubic curve lies three quarters of the way to its control points.
  expect(30 - 0.75 * (30 - up!)).toBeCloseTo(30 - rise(80, 26));
});

test("a sentence begins a few words before what it is about, but drops no word or two", () => {
  expect(firstShown([12, 20, 9])).toBe(4);
  expect(firstShown([8, 9, 10])).toBe(1);
  expect(firstShown([1, 3, 2])).toBe(1);
});
