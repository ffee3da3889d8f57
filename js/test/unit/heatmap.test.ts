import { expect, test } from "vitest";
import { paintCell, paintHatch, paintMap } from "../../src/drawing/heatmap";

const colours = Uint32Array.from({ length: 256 }, (_, code) => code + 1);

function blank(width: number, height: number): ImageData {
  return {
    width,
    height,
    data: new Uint8ClampedArray(width * height * 4),
    colorSpace: "srgb",
  } as ImageData;
}

function words(image: ImageData): number[] {
  return [...new Uint32Array(image.data.buffer)];
}

test("each cell of a small map is a block of pixels with sharp edges", () => {
  const image = blank(4, 4);
  paintMap(image, { x: 0, y: 0, width: 4, height: 4 }, Uint8Array.of(1, 2, 3, 4), 2, 2, colours);
  expect(words(image)).toEqual([2, 2, 3, 3, 2, 2, 3, 3, 4, 4, 5, 5, 4, 4, 5, 5]);
});

test("a thin diagonal survives when there are fewer pixels than cells", () => {
  const n = 512;
  const codes = new Uint8Array(n * n);
  for (let i = 0; i < n; i++) codes[i * n + i] = 255;
  const image = blank(100, 100);
  paintMap(image, { x: 0, y: 0, width: 100, height: 100 }, codes, n, n, colours);
  const painted = words(image);
  for (let i = 0; i < 100; i++) expect(painted[i * 100 + i]).toBe(256);
  expect(painted[99]).toBe(1);
});

test("a map is drawn inside its box only, from its offset", () => {
  const image = blank(3, 2);
  paintMap(image, { x: 1, y: 1, width: 2, height: 1 }, Uint8Array.of(9, 9, 5, 6), 1, 2, colours, 2);
  expect(words(image)).toEqual([0, 0, 0, 0, 6, 7]);
});

test("more columns than rows keep their places", () => {
  const image = blank(4, 1);
  paintMap(
    image,
    { x: 0, y: 0, width: 4, height: 1 },
    Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    2,
    4,
    colours,
  );
  expect(words(image)).toEqual([6, 7, 8, 9]);
});

test("a cell is one colour, an undefined one striped", () => {
  const image = blank(8, 4);
  paintCell(image, { x: 0, y: 0, width: 4, height: 4 }, 7);
  paintHatch(image, { x: 4, y: 0, width: 4, height: 4 }, 1, 2, 4);
  const painted = words(image);
  expect(painted.slice(0, 8)).toEqual([7, 7, 7, 7, 2, 1, 1, 1]);
  expect(painted.slice(8, 16)).toEqual([7, 7, 7, 7, 1, 1, 1, 2]);
});
