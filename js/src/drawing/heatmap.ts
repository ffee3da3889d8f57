/** Heat maps into pixels: colour by code, one device pixel at a time. Knows no kernel and no page. */

/** Part of an image, in device pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * First and last source index under each of `pixels` pixels. Where pixels are fewer than cells a pixel covers
 * several; where they are more it takes the one under its centre, so that cells keep sharp edges.
 */
function spans(cells: number, pixels: number): { first: Int32Array; last: Int32Array } {
  const first = new Int32Array(pixels);
  const last = new Int32Array(pixels);
  for (let i = 0; i < pixels; i++) {
    if (pixels >= cells) {
      first[i] = last[i] = Math.floor(((i + 0.5) * cells) / pixels);
    } else {
      first[i] = Math.floor((i * cells) / pixels);
      last[i] = Math.ceil(((i + 1) * cells) / pixels) - 1;
    }
  }
  return { first, last };
}

/**
 * Draws a map into `box` of `image`.
 *
 * codes: uint8 [rows, cols] from `offset` on; colours: 256 words. Where a pixel covers several cells it shows the
 * largest, not the mean: a thin diagonal is what people look for.
 */
export function paintMap(
  image: ImageData,
  box: Box,
  codes: Uint8Array,
  rows: number,
  cols: number,
  colours: Uint32Array,
  offset = 0,
): void {
  const words = new Uint32Array(image.data.buffer);
  const { first: left, last: right } = spans(cols, box.width);
  const { first: top, last: bottom } = spans(rows, box.height);
  const line = new Uint8Array(cols);
  let drawn = -1;
  for (let y = 0; y < box.height; y++) {
    const start = (box.y + y) * image.width + box.x;
    if (top[y] === drawn && top[y] === bottom[y]) {
      words.copyWithin(start, start - image.width, start - image.width + box.width);
      continue;
    }
    drawn = top[y]!;
    line.set(codes.subarray(offset + drawn * cols, offset + (drawn + 1) * cols));
    for (let row = drawn + 1; row <= bottom[y]!; row++) {
      const from = offset + row * cols;
      for (let col = 0; col < cols; col++) {
        if (codes[from + col]! > line[col]!) line[col] = codes[from + col]!;
      }
    }
    for (let x = 0; x < box.width; x++) {
      let code = line[left[x]!]!;
      for (let col = left[x]! + 1; col <= right[x]!; col++)
        if (line[col]! > code) code = line[col]!;
      words[start + x] = colours[code]!;
    }
  }
}

/** Fills `box` with one colour. */
export function paintCell(image: ImageData, box: Box, colour: number): void {
  const words = new Uint32Array(image.data.buffer);
  for (let y = box.y; y < box.y + box.height; y++) {
    words.fill(colour, y * image.width + box.x, y * image.width + box.x + box.width);
  }
}

/** Fills `box` with diagonal stripes: no number here. `pitch` is their distance in pixels. */
export function paintHatch(
  image: ImageData,
  box: Box,
  ground: number,
  ink: number,
  pitch: number,
): void {
  const words = new Uint32Array(image.data.buffer);
  const width = Math.max(1, Math.round(pitch / 4));
  for (let y = 0; y < box.height; y++) {
    for (let x = 0; x < box.width; x++) {
      words[(box.y + y) * image.width + box.x + x] = (x + y) % pitch < width ? ink : ground;
    }
  }
}
