import { type Box, paintCell, paintHatch, paintMap } from "../../drawing/heatmap";

/** Colours each box by its value, [row][column], `columns` boxes a row; what is undefined is hatched in `colours`. */
export function paintValues(
  image: ImageData,
  boxes: readonly Box[],
  columns: number,
  values: readonly (readonly (number | null)[])[],
  colourOf: (value: number) => number,
  colours: Uint32Array,
  pitch: number,
): void {
  for (const [i, box] of boxes.entries()) {
    const value = values[Math.floor(i / columns)]?.[i % columns] ?? null;
    if (value !== null && Number.isFinite(value)) paintCell(image, box, colourOf(value));
    else paintHatch(image, box, colours[8]!, colours[90]!, Math.max(3, pitch));
  }
}

/** Draws a map into each box: `data` uint8 [box, rows, columns]. */
export function paintMaps(
  image: ImageData,
  boxes: readonly Box[],
  { data, rows, columns }: { data: Uint8Array; rows: number; columns: number },
  colours: Uint32Array,
): void {
  for (const [i, box] of boxes.entries()) {
    paintMap(image, box, data, rows, columns, colours, i * rows * columns);
  }
}

/** Cuts the corners of boxes, which ImageData has none of. */
export function cutCorners(
  context: CanvasRenderingContext2D,
  boxes: readonly Box[],
  radius: number,
): void {
  context.globalCompositeOperation = "destination-in";
  context.beginPath();
  for (const { x, y, width, height } of boxes) {
    context.roundRect(x, y, width, height, Math.min(radius, width / 6));
  }
  context.fill();
}
