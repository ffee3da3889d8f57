/** Colour ramps and their scales. One hue, lightness even in OKLab: equal steps of value look equal, to every eye. */

export type Theme = "light" | "dark";

/** Lightness, chroma and hue (degrees) of the two ends of a ramp. The low end is the ground that it lies on. */
type Oklch = readonly [lightness: number, chroma: number, hue: number];

const ends: Record<Theme, readonly [Oklch, Oklch]> = {
  light: [
    [1, 0, 259],
    [0.385, 0.145, 259],
  ],
  dark: [
    [0.235, 0.008, 272],
    [0.92, 0.04, 272],
  ],
};

/** sRGB bytes of an OKLab colour (Ottosson 2020), clipped to the gamut. */
function srgb(lightness: number, a: number, b: number): [number, number, number] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const byte = (linear: number) => {
    const x = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
  };
  return [
    byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    byte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function build(theme: Theme): Uint32Array {
  const lab = ends[theme].map(([l, c, h]) => {
    const angle = (h * Math.PI) / 180;
    return [l, c * Math.cos(angle), c * Math.sin(angle)] as const;
  });
  const [low, high] = [lab[0]!, lab[1]!];
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const t = i / 255;
    const [r, g, b] = srgb(
      low[0] + t * (high[0] - low[0]),
      low[1] + t * (high[1] - low[1]),
      low[2] + t * (high[2] - low[2]),
    );
    // ImageData holds R, G, B, A bytes; every machine with a browser is little-endian
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

const built: Partial<Record<Theme, Uint32Array>> = {};

/** 256 colours, low to high, as the 32-bit words of an ImageData. */
export function ramp(theme: Theme): Uint32Array {
  built[theme] ??= build(theme);
  return built[theme];
}

/** A colour of a ramp, as CSS writes it. */
export function css(word: number): string {
  return `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
}

/** A ramp as a CSS gradient, for colour bars. */
export function gradient(theme: Theme): string {
  const colours = ramp(theme);
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
