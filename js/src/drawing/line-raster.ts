import type { Rgb } from "./colors";
import { type Field, heights, type Lines, opacityOf, widthOf } from "./line-curves";

/**
 * Draws thousands of lines without a path object. A line crosses each pixel column once, in a run of pixels:
 * it marks only where its runs begin and end, in a plane of differences, and one sum down each column then
 * gives the depth of every pixel. One plane a head; planes are mixed into one image whose opacity grows with
 * depth ever more slowly, so that weak lines add up to a haze and never to a wall.
 */
export class Raster {
  #width = 0;
  #height = 0;
  /** Planes of differences, one a head that has lines. */
  #planes: Float32Array[] = [];
  #image: ImageData | null = null;
  #crowd = 1;
  /** Columns a pixel of the screen: under 1 where the picture is drawn narrower and stretched. */
  #narrow = 1;

  /**
   * An image of `lines` (sorted by head), `width` x `height` pixels, from the left edge of `field` to its right
   * edge, with `scale` pixels a CSS pixel from top to bottom.
   */
  draw(
    lines: Lines,
    colors: readonly Rgb[],
    field: Field,
    width: number,
    height: number,
    scale: number,
  ): ImageData {
    this.#resize(width, height);
    const curve = heights(width);
    const slopes = slopesOf(curve);
    this.#crowd = crowding(lines.count);
    this.#narrow = width / ((field.right - field.left) * scale);
    const inks: Rgb[] = [];
    for (let i = 0; i < lines.count; ) {
      const head = lines.head[i]!;
      const plane = this.#planeAt(inks.length);
      inks.push(colors[head]!);
      for (; i < lines.count && lines.head[i] === head; i++) {
        const start = ((lines.from[i]! + 0.5) * field.row - field.top) * scale;
        const end = ((lines.to[i]! + 0.5) * field.row - field.top) * scale;
        this.#line(plane, curve, slopes, start, end, lines.weight[i]!, scale);
      }
    }
    return this.#mix(inks);
  }

  #resize(width: number, height: number): void {
    if (this.#image && width === this.#width && height === this.#height) return;
    this.#width = width;
    this.#height = height;
    this.#image = new ImageData(width, height);
  }

  /** An empty plane, with rows of margin so that the innermost loops need no bounds check. */
  #planeAt(index: number): Float32Array {
    const size = this.#width * (this.#height + 4);
    const plane = this.#planes[index];
    if (plane && plane.length >= size) return plane.fill(0, 0, size);
    const made = new Float32Array(size);
    this.#planes[index] = made;
    return made;
  }

  #line(
    plane: Float32Array,
    curve: Float32Array,
    slopes: Float32Array,
    start: number,
    end: number,
    weight: number,
    scale: number,
  ): void {
    const [first, last] = crossing(curve, start, end, this.#height);
    const rise = end - start;
    const depth = -Math.log(1 - opacityOf(weight)) * this.#crowd;
    const thick = widthOf(weight) * scale * (0.4 + 0.6 * this.#crowd);
    // A strong line is filled over its whole width, a weak one is two pixels of haze in each column.
    if (weight >= STRONG) this.#thick(plane, curve, slopes, start, rise, depth, thick, first, last);
    else this.#thin(plane, curve, start, rise, depth * Math.min(1, thick), first, last);
  }

  #thin(
    plane: Float32Array,
    curve: Float32Array,
    start: number,
    rise: number,
    depth: number,
    first: number,
    last: number,
  ): void {
    const width = this.#width;
    // Half a pixel less puts the centre of pixel 0 at 0; a row more skips the margin.
    const base = start + 0.5;
    for (let x = first; x < last; x++) {
      const y = base + rise * curve[x]!;
      const row = y | 0;
      const below = (y - row) * depth;
      const at = row * width + x;
      plane[at]! += depth - below;
      plane[at + width]! += below + below - depth;
      plane[at + width + width]! -= below;
    }
  }

  #thick(
    plane: Float32Array,
    curve: Float32Array,
    slopes: Float32Array,
    start: number,
    rise: number,
    depth: number,
    thick: number,
    first: number,
    last: number,
  ): void {
    const width = this.#width;
    const bottom = this.#height + 1;
    const crowd = this.#crowd;
    const narrow = this.#narrow ** 2;
    for (let x = first; x < last; x++) {
      const slope = rise * slopes[x]!;
      const stretch = Math.sqrt(1 + slope * slope * narrow);
      const wanted = (thick / 2) * stretch;
      // Runs of neighbouring columns must touch, or a steep line falls into dots.
      const half = Math.max(0.5, wanted, Math.abs(slope) / 2);
      // Among few a steep line is as dark as a level one; in a crowd it is only as dark as its ink allows.
      const share = depth * (crowd + (1 - crowd) / stretch) * Math.min(1, wanted / half);
      const y = start + 1 + rise * curve[x]!;
      const upper = Math.max(0, y - half);
      const begin = upper | 0;
      const late = (upper - begin) * share;
      const at = begin * width + x;
      plane[at]! += share - late;
      plane[at + width]! += late;
      const lower = Math.min(bottom, y + half);
      const finish = lower | 0;
      const over = (lower - finish) * share;
      const to = finish * width + x;
      plane[to]! -= share - over;
      plane[to + width]! -= over;
    }
  }

  /** Sums the planes down their columns and mixes them, a row of pixels at a time. */
  #mix(inks: readonly Rgb[]): ImageData {
    const width = this.#width;
    const image = this.#image!;
    const { data } = image;
    const opacity = opacities(this.#crowd);
    // Doubles where sums are made: a conversion of every float would cost more than the sum.
    const sums = inks.map((_, i) => Float64Array.from(this.#planes[i]!.subarray(0, width)));
    const mixed = new Float64Array(width * 4);
    data.fill(0);
    for (let row = 0; row < this.#height; row++) {
      mixed.fill(0);
      for (let i = 0; i < inks.length; i++) {
        addRow(mixed, sums[i]!, this.#planes[i]!, (row + 1) * width, inks[i]!);
      }
      for (let x = 0, at = row * width * 4; x < width * 4; x += 4, at += 4) {
        const depth = mixed[x + 3]!;
        if (depth < NOTHING) continue;
        const share = 1 / depth;
        data[at] = mixed[x]! * share;
        data[at + 1] = mixed[x + 1]! * share;
        data[at + 2] = mixed[x + 2]! * share;
        data[at + 3] = opacity[Math.min(LAST, (depth * STEPS) | 0)]!;
      }
    }
    return image;
  }
}

/** Adds the differences of one row, from `start` on, to the sums above it, and their ink to the row's mixture. */
function addRow(
  mixed: Float64Array,
  sums: Float64Array,
  plane: Float32Array,
  start: number,
  [r, g, b]: Rgb,
): void {
  for (let x = 0, at = 0; x < sums.length; x++, at += 4) {
    const depth = sums[x]! + plane[start + x]!;
    sums[x] = depth;
    mixed[at]! += depth * r;
    mixed[at + 1]! += depth * g;
    mixed[at + 2]! += depth * b;
    mixed[at + 3]! += depth;
  }
}

/** What is left of sums that cancel, in the last places of a float. */
const NOTHING = 5e-4;

/** How much of its depth a line keeps among many, 1 for the first thousand: a crowd must not become a wall. */
function crowding(lines: number): number {
  return Math.max(0.22, Math.min(1, Math.sqrt(1_000 / lines)));
}

/** From this weight on a line is filled over its width. */
const STRONG = 0.12;

/** Steps of depth that are told apart, up to a depth of 6. */
const STEPS = 256;
const LAST = 6 * STEPS - 1;

/** Opacity, 0 to 255, of each step of depth; the darkest a crowd may get is well short of a wall. */
function opacities(crowd: number): Uint8ClampedArray {
  const most = 0.4 + 0.6 * crowd;
  return Uint8ClampedArray.from(
    { length: LAST + 1 },
    (_, i) => 255 * most * (1 - Math.exp(-(i + 0.5) / STEPS / most)),
  );
}

function slopesOf(curve: Float32Array): Float32Array {
  const last = curve.length - 1;
  return curve.map((_, x) => {
    const before = Math.max(0, x - 1);
    const after = Math.min(last, x + 1);
    return after > before ? (curve[after]! - curve[before]!) / (after - before) : 0;
  });
}

/** The columns [first, last) in which a line from `start` to `end` is within 0 and `height`. */
export function crossing(
  curve: Float32Array,
  start: number,
  end: number,
  height: number,
): [number, number] {
  const rise = end - start;
  const inside = (y: number) => y >= -0.5 && y < height + 0.5;
  if (rise === 0) return inside(start) ? [0, curve.length] : [0, 0];
  // Heights only grow along a line, so each bound is found by halving.
  const reach = (bound: number) => firstAtLeast(curve, (bound - start) / rise);
  const [a, b] = rise > 0 ? [-0.5, height + 0.5] : [height + 0.5, -0.5];
  const first = reach(a);
  let last = reach(b);
  // A falling line reaches the upper bound inside, a rising one leaves the lower bound outside.
  while (last > first && !inside(start + rise * curve[last - 1]!)) last--;
  let begin = first;
  while (begin < last && !inside(start + rise * curve[begin]!)) begin++;
  return [begin, last];
}

function firstAtLeast(curve: Float32Array, value: number): number {
  let low = 0;
  let high = curve.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
