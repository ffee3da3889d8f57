/** Colour ramps and their scales. One hue, lightness even in OKLab: equal steps of value look equal, to every eye. */

import { wordOf } from "./colors";
import { RAMP } from "./palette";

function build(dark: boolean): Uint32Array {
  const stops = dark ? RAMP.dark : RAMP.light;
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const [from, to] = [stops[low]!, stops[low + 1]!];
    const between = (shift: number) => {
      const [a, b] = [(from >> shift) & 255, (to >> shift) & 255];
      return Math.round(a + (place - low) * (b - a));
    };
    return wordOf([between(16), between(8), between(0)]);
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
