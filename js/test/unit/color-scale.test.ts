import { expect, test } from "vitest";
import { css, gradient, linearScale, ramp, weightScale } from "../../src/drawing/color-scale";

/** CIE L* of an sRGB word: not the space that the ramps are made in. */
function lightness(word: number): number {
  const [r, g, b] = [word & 255, (word >> 8) & 255, (word >> 16) & 255].map((byte) => {
    const x = byte / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
}

for (const dark of [false, true]) {
  test(`the ${dark ? "dark" : "light"} ramp changes lightness one way and in even steps`, () => {
    const sampled = Array.from({ length: 9 }, (_, i) =>
      lightness(ramp(dark)[Math.round((i * 255) / 8)]!),
    );
    const steps = sampled.slice(1).map((value, i) => Math.abs(value - sampled[i]!));
    const oneWay = sampled
      .slice(1)
      .every((value, i) => (dark ? value > sampled[i]! : value < sampled[i]!));
    expect(oneWay).toBe(true);
    expect(Math.max(...steps) / Math.min(...steps)).toBeLessThan(1.3);
    expect(Math.abs(sampled[8]! - sampled[0]!)).toBeGreaterThan(65);
  });
}

test("the light ramp starts close to white and ends in blue", () => {
  expect(lightness(ramp(false)[0]!)).toBeGreaterThan(97);
  const end = ramp(false)[255]!;
  expect((end >> 16) & 255).toBeGreaterThan(2 * (end & 255));
});

test("a colour bar runs from the first colour to the last", () => {
  expect(gradient(false)).toContain(`(to right, ${css(ramp(false)[0]!)}, `);
  expect(gradient(false)).toContain(`${css(ramp(false)[255]!)})`);
});

test("a scale runs between round numbers and marks them", () => {
  const scale = linearScale([0.13, 2.31, null, 1.2, Number.NaN])!;
  expect([scale.low, scale.high]).toEqual([0, 3]);
  expect(scale.ticks.map((t) => t.value)).toEqual([0, 1, 2, 3]);
  expect(scale.at(1.5)).toBe(0.5);
});

test("a scale of numbers below zero keeps its sign", () => {
  const scale = linearScale([-0.3, 0.1])!;
  expect(scale.ticks.map((t) => t.value)).toEqual([-0.3, -0.2, -0.1, 0, 0.1]);
});

test("equal numbers still have a scale, from zero", () => {
  expect(linearScale([0.4, 0.4])!.low).toBe(0);
  expect(linearScale([0.4, 0.4])!.high).toBeGreaterThanOrEqual(0.4);
  expect(linearScale([0, 0])).not.toBeNull();
});

test("nothing but undefined values has no scale", () => {
  expect(linearScale([null, Number.NaN])).toBeNull();
});

test("attention is coloured by its square root", () => {
  expect(weightScale.at(0.25)).toBe(0.5);
  expect(weightScale.at(1)).toBe(1);
});
