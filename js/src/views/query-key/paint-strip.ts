import { css, oklch, type Rgb } from "../../drawing/colors";

/** The colour of a signed number, -1 to 1: blue above zero, orange below, the ground between. */
function signedRgb(value: number, dark: boolean): Rgb {
  const size = Math.sqrt(Math.min(1, Math.abs(value)));
  const [ground, full] = dark ? [0.25, 0.8] : [0.97, 0.5];
  return oklch(ground + size * (full - ground), size * 0.145, value < 0 ? 55 : 255);
}

/** The same behind a word, which stays readable on it. */
export function signedShade(value: number, dark: boolean): string {
  const strength = 0.36 * Math.sqrt(Math.abs(value));
  return css(signedRgb(Math.sign(value), dark), Number(strength.toFixed(3)));
}

const STEPS = 32;
const known = new Map<string, string>();

/** Signed numbers as a strip, one pixel a number, coloured against `full`; CSS makes it as large as its cell. */
export function paintStrip(
  canvas: HTMLCanvasElement,
  values: readonly number[],
  full: number,
  dark: boolean,
): void {
  canvas.width = values.length;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return;
  for (const [i, value] of values.entries()) {
    const step = Math.round((STEPS * value) / (full || 1));
    const key = `${step} ${dark}`;
    const colour = known.get(key) ?? css(signedRgb(step / STEPS, dark));
    known.set(key, colour);
    context.fillStyle = colour;
    context.fillRect(i, 0, 1, 1);
  }
}
