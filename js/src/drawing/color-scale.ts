/** Colour ramps and their scales. One hue, lightness even in OKLab: equal steps of value look equal, to every eye. */

import { oklch, wordOf } from "./colors";

/** Lightness, chroma and hue (degrees) of the two ends of a ramp. The low end is the ground that it lies on. */
type Oklch = readonly [lightness: number, chroma: number, hue: number];

const ends: { light: readonly [Oklch, Oklch]; dark: readonly [Oklch, Oklch] } = {
  light: [
    [0.985, 0.004, 259],
    [0.385, 0.145, 259],
  ],
  dark: [
    [0.235, 0.008, 272],
    [0.92, 0.04, 272],
  ],
};

function build(dark: boolean): Uint32Array {
  const [low, high] = dark ? ends.dark : ends.light;
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const t = i / 255;
    const between = (axis: 0 | 1) => low[axis] + t * (high[axis] - low[axis]);
    return wordOf(oklch(between(0), between(1), high[2]));
  });
}

const built = new Map<boolean, Uint32Array>();

/** 256 colours, low to high, as the 32-bit words of an ImageData. */
export function ramp(dark: boolean): Uint32Array {
  let colours = built.get(dark);
  if (!colours) {
    colours = build(dark);
    built.set(dark, colours);
  }
  return colours;
}

/** A colour of a ramp, as CSS writes it. */
export function css(word: number): string {
  return `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
}

/** A ramp as a CSS gradient, for colour bars. */
export function gradient(dark: boolean): string {
  const colours = ramp(dark);
  const stops = Array.from({ length: 9 }, (_, i) => css(colours[Math.round((i * 255) / 8)]!));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** From a value to its place on a ramp, 0 to 1, and the numbers to write beside the ramp. */
export interface Scale {
  low: number;
  high: number;
  ticks: { value: number; at: number }[];
  at(value: number): number;
}

/** A scale between round numbers around `values`; null where none of them is a number. */
export function linearScale(values: Iterable<number | null>): Scale | null {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) return null;
  if (min === max) {
    // heads that all agree get the low half of a ramp that starts at zero, rather than no ramp
    const reach = Math.abs(max) || 1;
    min = Math.min(0, max - reach);
    max = Math.max(0, max + reach);
  }
  const rough = (max - min) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((s) => s * power >= rough * 0.999) ?? 10);
  const first = Math.floor(min / step + 1e-9);
  const last = Math.ceil(max / step - 1e-9);
  const low = first * step;
  const high = last * step;
  const at = (value: number) => Math.min(1, Math.max(0, (value - low) / (high - low)));
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => {
    const value = Number(((first + i) * step).toPrecision(12));
    return { value, at: at(value) };
  });
  return { low, high, ticks, at };
}

/** The scale of attention itself: colours follow the square root, so that weak weights stay apart. */
export const weightScale: Scale = {
  low: 0,
  high: 1,
  ticks: [0, 0.05, 0.25, 0.5, 1].map((value) => ({ value, at: Math.sqrt(value) })),
  at: (value) => Math.sqrt(Math.min(1, Math.max(0, value))),
};
