import { CATEGORIES, HEADS } from "./palette";

export type Rgb = readonly [number, number, number];

const rgb = (color: number): Rgb => [color >> 16, (color >> 8) & 255, color & 255];

/**
 * The colour of the head at this place among those that are on, sRGB 0 to 255. The first seven are told apart by every
 * eye; a colour never stands alone: swatches and labels carry the head's number.
 */
export function headRgb(place: number, dark: boolean): Rgb {
  const colors = dark ? HEADS.dark : HEADS.light;
  return rgb(colors[place % colors.length]!);
}

export function headColor(place: number, dark: boolean): string {
  return css(headRgb(place, dark));
}

export function css([r, g, b]: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

/** The colour of a category, the same on light and dark. */
export function categoryRgb(index: number): Rgb {
  const known = CATEGORIES[index];
  return known === undefined ? headRgb(index, true) : rgb(known);
}

/** A colour as the 32-bit word of an ImageData: R, G, B, A bytes, as every machine with a browser is little-endian. */
export function wordOf([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Black or white, whichever reads better on a colour. */
export function readableOn(color: Rgb): string {
  const [r, g, b] = color.map((v) =>
    v <= 10.31 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
  );
  const luminance = 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  return luminance > 0.179 ? "#000" : "#fff";
}

/** OKLCH to sRGB (Ottosson 2020), chroma reduced until the colour is within sRGB. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  for (let c = chroma; c > 0; c -= 0.005) {
    const linear = linearOf(lightness, c * Math.cos(angle), c * Math.sin(angle));
    if (linear.every((v) => v >= -1e-4 && v <= 1.0001)) return gamma(linear);
  }
  return gamma(linearOf(lightness, 0, 0));
}

function linearOf(L: number, a: number, b: number): [number, number, number] {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function gamma(linear: readonly number[]): Rgb {
  const [r = 0, g = 0, b = 0] = linear.map((v) => {
    const c = Math.min(1, Math.max(0, v));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  });
  return [r, g, b];
}
