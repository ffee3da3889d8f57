import { expect, test } from "vitest";
import { css, headRgb, oklch, readableOn } from "../../src/drawing/colors";
import { heights, type Lines, opacityOf, widthOf } from "../../src/drawing/line-curves";
import { crossing, Raster } from "../../src/drawing/line-raster";
import { behind, contrast, luminanceOf } from "../../src/drawing/theme";

const both = [false, true];
const heads = Array.from({ length: 24 }, (_, head) => head);

test("OKLCH as its author gives it", () => {
  // Ottosson's table, "A perceptual color space for image processing": white, and grey by lightness alone.
  expect(oklch(1, 0, 0)).toEqual([255, 255, 255]);
  expect(oklch(0, 0, 0)).toEqual([0, 0, 0]);
  // CSS Color 4: oklch(62.796% 0.25768 29.234) is red.
  const [r, g, b] = oklch(0.62796, 0.25768, 29.234);
  expect(r).toBeGreaterThan(250);
  expect(Math.max(g, b)).toBeLessThan(35);
});

test.each(both)("every head's number can be read on its colour (dark: %s)", (dark) => {
  for (const head of heads) {
    const color = headRgb(head, dark);
    const luminances = [
      css(color),
      readableOn(color) === "#000" ? "rgb(0 0 0)" : "rgb(255 255 255)",
    ];
    const [a, b] = luminances.map((of) => luminanceOf(of)!) as [number, number];
    expect(contrast(a, b)).toBeGreaterThanOrEqual(4.5);
  }
});

test.each(both)("24 heads that are on have 24 colours (dark: %s)", (dark) => {
  expect(new Set(heads.map((place) => css(headRgb(place, dark)))).size).toBe(24);
});

test("luminance is that of sRGB, and see-through grounds have none", () => {
  expect(luminanceOf("rgb(255, 255, 255)")).toBeCloseTo(1);
  expect(luminanceOf("rgb(0, 0, 0)")).toBe(0);
  expect(luminanceOf("color(srgb 1 1 1)")).toBeCloseTo(1);
  expect(luminanceOf("rgba(0, 0, 0, 0)")).toBeNull();
});

test("the ground is the nearest one that is painted", () => {
  const outer = document.createElement("div");
  outer.style.backgroundColor = "rgb(17, 17, 17)";
  const middle = document.createElement("div");
  middle.style.backgroundColor = "rgba(255, 255, 255, 0.1)";
  const inner = document.createElement("div");
  outer.append(middle);
  middle.append(inner);
  document.body.append(outer);
  expect(behind(inner).luminance).toBeLessThan(0.01);
  outer.remove();
});

test("lines leave and arrive level, and are half way up half way across", () => {
  const curve = heights(101);
  expect(curve[50]).toBeCloseTo(0.5, 5);
  expect(curve[0]! + (1 - curve[100]!)).toBeLessThan(0.001);
  for (let x = 1; x < curve.length; x++) expect(curve[x]!).toBeGreaterThan(curve[x - 1]!);
  // Bezier by hand at t = 1/4: x = 3/8 - 3/32 + 1/64 = 19/64, y = 3/16 - 1/32 = 5/32.
  expect(heights(64)[19]! / 2 + heights(64)[18]! / 2).toBeCloseTo(5 / 32, 3);
});

test("width and opacity both follow the weight", () => {
  for (const [weak, strong] of [
    [0.02, 0.1],
    [0.1, 0.5],
    [0.5, 1],
  ] as const) {
    expect(widthOf(weak)).toBeLessThan(widthOf(strong));
    expect(opacityOf(weak)).toBeLessThan(opacityOf(strong));
  }
  expect(opacityOf(1)).toBeLessThan(1);
});

test("a line is within the picture where its heights are", () => {
  const curve = Float32Array.of(0, 0.25, 0.5, 0.75, 1);
  expect(crossing(curve, 10, 20, 100)).toEqual([0, 5]);
  const [first, last] = crossing(curve, -40, -20, 100);
  expect(first).toBe(last);
  // -10, 2.5, 15, 27.5, 40 in a picture 20 high.
  expect(crossing(curve, -10, 40, 20)).toEqual([1, 3]);
  expect(crossing(curve, 40, -10, 20)).toEqual([2, 4]);
  expect(crossing(curve, 5, 5, 20)).toEqual([0, 5]);
  expect(crossing(curve, 30, 30, 20)).toEqual([0, 0]);
});

function one(from: number, to: number, weight: number): Lines {
  return {
    count: 1,
    head: Uint8Array.of(0),
    from: Int32Array.of(from),
    to: Int32Array.of(to),
    weight: Float32Array.of(weight),
  };
}

const field = { left: 0, right: 40, row: 10, top: 0 };
const scale = 1;
const red = [200, 0, 0] as const;

function opacity(image: ImageData, x: number, y: number): number {
  return image.data[(y * image.width + x) * 4 + 3]! / 255;
}

test.each([0.05, 0.9])("a line of weight %d is painted in its colour, where it runs", (weight) => {
  const image = new Raster().draw(one(0, 4, weight), [red], field, 40, 50, scale);
  expect(opacity(image, 0, 5) + opacity(image, 0, 4)).toBeGreaterThan(0.02);
  expect(opacity(image, 39, 45) + opacity(image, 39, 44)).toBeGreaterThan(0.02);
  expect(opacity(image, 0, 30)).toBe(0);
  expect(opacity(image, 39, 10)).toBe(0);
  const column = Array.from({ length: 50 }, (_, y) => opacity(image, 20, y));
  expect(column.indexOf(Math.max(...column))).toBeGreaterThanOrEqual(22);
  expect(column.indexOf(Math.max(...column))).toBeLessThanOrEqual(27);
  const at = (5 * 40 + 0) * 4;
  expect([...image.data.slice(at, at + 3)]).toEqual([200, 0, 0]);
});

test("many weak lines on one another add up, but stay short of a wall", () => {
  const count = 20_000;
  const lines: Lines = {
    count,
    head: new Uint8Array(count),
    from: new Int32Array(count).fill(2),
    to: new Int32Array(count).fill(2),
    weight: new Float32Array(count).fill(0.03),
  };
  const few = opacity(new Raster().draw(one(2, 2, 0.03), [red], field, 40, 50, scale), 20, 24);
  const many = opacity(new Raster().draw(lines, [red], field, 40, 50, scale), 20, 24);
  expect(many).toBeGreaterThan(few * 3);
  expect(many).toBeLessThan(0.7);
});

test("a raster draws the next picture as if it were its first", () => {
  const raster = new Raster();
  raster.draw(one(0, 4, 0.9), [red], field, 40, 50, scale);
  const again = raster.draw(one(1, 1, 0.3), [red], field, 40, 50, scale);
  const fresh = new Raster().draw(one(1, 1, 0.3), [red], field, 40, 50, scale);
  expect(again.data).toEqual(fresh.data);
});
