import { type Field, heights, type Lines, opacityOf, widthOf } from "./curves";
import type { Rgb } from "./palette";

/**
 * Draws thousands of lines without a path object: a line crosses each pixel column once, so it adds its
 * depth to a few pixels of each column of a plane. One plane a head; planes are mixed into one image
 * whose opacity grows with depth ever more slowly, so that weak lines add up to a haze and never to a wall.
 */
export class Raster {
  #width = 0;
  #height = 0;
  #plane = new Float32Array(0);
  #mixed = new Float32Array(0);
  #image: ImageData | null = null;
  #crowd = 1;

  /**
   * An image of `lines`, `width` x `height` pixels for a canvas of `scale` pixels a CSS pixel across
   * (`scale.x`) and down (`scale.y`); its left edge is `field.left`, its right edge `field.right`.
   */
  draw(
    lines: Lines,
    colors: readonly Rgb[],
    field: Field,
    width: number,
    height: number,
    scale: { x: number; y: number },
  ): ImageData {
    this.#resize(width, height);
    const curve = heights(width);
    const slopes = slopesOf(curve);
    this.#mixed.fill(0);
    this.#crowd = crowding(lines.count);
    for (const [head, color] of colors.entries()) {
      let any = false;
      for (let i = 0; i < lines.count; i++) {
        if (lines.head[i] !== head) continue;
        if (!any) this.#plane.fill(0);
        any = true;
        const start = ((lines.from[i]! + 0.5) * field.row - field.top) * scale.y;
        const end = ((lines.to[i]! + 0.5) * field.row - field.top) * scale.y;
        this.#line(curve, slopes, start, end, lines.weight[i]!, scale.y);
      }
      if (any) this.#mix(color);
    }
    return this.#toImage();
  }

  #resize(width: number, height: number): void {
    if (this.#image && width === this.#width && height === this.#height) return;
    this.#width = width;
    this.#height = height;
    // A row of margin on both ends, so that the innermost loop needs no bounds check.
    this.#plane = new Float32Array(width * (height + 2));
    this.#mixed = new Float32Array(width * height * 4);
    this.#image = new ImageData(width, height);
  }

  #line(
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
    if (weight >= STRONG) this.#thick(curve, slopes, start, rise, depth, thick, first, last);
    else this.#thin(curve, start, rise, depth * Math.min(1, thick), first, last);
  }

  #thin(
    curve: Float32Array,
    start: number,
    rise: number,
    depth: number,
    first: number,
    last: number,
  ): void {
    const plane = this.#plane;
    const width = this.#width;
    // Half a pixel less puts the centre of pixel 0 at 0; a row more skips the margin.
    const base = start + 0.5;
    for (let x = first; x < last; x++) {
      const y = base + rise * curve[x]!;
      const row = y | 0;
      const below = (y - row) * depth;
      const at = row * width + x;
      plane[at]! += depth - below;
      plane[at + width]! += below;
    }
  }

  #thick(
    curve: Float32Array,
    slopes: Float32Array,
    start: number,
    rise: number,
    depth: number,
    thick: number,
    first: number,
    last: number,
  ): void {
    const plane = this.#plane;
    const width = this.#width;
    const height = this.#height;
    const crowd = this.#crowd;
    const flat = thick < 1 ? depth * thick : depth;
    for (let x = first; x < last; x++) {
      const slope = rise * slopes[x]!;
      const stretch = Math.sqrt(1 + slope * slope);
      const half = Math.max(0.5, (thick / 2) * stretch);
      const y = start + rise * curve[x]!;
      const upper = Math.max(0, y - half);
      const lower = Math.min(height, y + half);
      // Among few a steep line is as dark as a level one; in a crowd it is only as dark as its ink allows.
      const share = flat * (crowd + (1 - crowd) / stretch);
      for (let row = Math.floor(upper); row < lower; row++) {
        const cover = Math.min(row + 1, lower) - Math.max(row, upper);
        plane[(row + 1) * width + x]! += share * cover;
      }
    }
  }

  #mix([r, g, b]: Rgb): void {
    const plane = this.#plane;
    const mixed = this.#mixed;
    const width = this.#width;
    const size = width * this.#height;
    for (let i = 0, at = 0; i < size; i++, at += 4) {
      const depth = plane[i + width]!;
      if (depth === 0) continue;
      mixed[at]! += depth * r;
      mixed[at + 1]! += depth * g;
      mixed[at + 2]! += depth * b;
      mixed[at + 3]! += depth;
    }
  }

  #toImage(): ImageData {
    const image = this.#image!;
    const { data } = image;
    const mixed = this.#mixed;
    const opacity = opacities(this.#crowd);
    data.fill(0);
    for (let at = 0; at < data.length; at += 4) {
      const depth = mixed[at + 3]!;
      if (depth === 0) continue;
      data[at] = mixed[at]! / depth;
      data[at + 1] = mixed[at + 1]! / depth;
      data[at + 2] = mixed[at + 2]! / depth;
      data[at + 3] = opacity[Math.min(LAST, (depth * STEPS) | 0)]!;
    }
    return image;
  }
}

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
