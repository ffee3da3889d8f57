import { css, type Rgb } from "./colors";

/**
 * Lines leave and arrive level: a Bezier curve whose two inner control points lie half way across.
 * Both ways of drawing (canvas curves for few lines, the rasteriser for many) follow this shape, this
 * width and this opacity, so that going from one to the other shows no seam.
 */

/** Height along a line, 0 to 1, at the middle of each of `columns` pixels. */
export function heights(columns: number): Float32Array {
  const table = new Float32Array(columns);
  for (let x = 0; x < columns; x++) {
    const t = parameterAt((x + 0.5) / columns);
    table[x] = t * t * (3 - 2 * t);
  }
  return table;
}

/** Bezier parameter where the curve is `x` of the way across: x = 1.5 t - 1.5 t^2 + t^3, by Newton. */
function parameterAt(x: number): number {
  let t = x;
  for (let i = 0; i < 8; i++) {
    t -= (t * (1.5 + t * (t - 1.5)) - x) / (1.5 + t * (3 * t - 3));
  }
  return Math.min(1, Math.max(0, t));
}

/** Width in CSS pixels of a line of some weight. */
export function widthOf(weight: number): number {
  return 0.7 + 2.5 * Math.min(1, weight);
}

/** Opacity of a line of some weight, 0 to 1. */
export function opacityOf(weight: number): number {
  return 0.03 + 0.87 * Math.min(1, weight) ** 0.8;
}

/** Lines from place to place; the three arrays run in parallel up to `count`. */
export interface Lines {
  count: number;
  /** Index into the list of heads shown. */
  head: Uint8Array;
  /** Rows on screen. */
  from: Int32Array;
  to: Int32Array;
  weight: Float32Array;
}

export interface Field {
  /** Where lines start and end, CSS pixels from the left of the canvas. */
  left: number;
  right: number;
  /** Height of a row, and of what lies above the canvas, CSS pixels. */
  row: number;
  top: number;
}

/** Draws few lines as canvas curves, weak ones first. */
export function drawCurves(
  context: CanvasRenderingContext2D,
  lines: Lines,
  colors: readonly Rgb[],
  { left, right, row, top }: Field,
): void {
  const order = Array.from({ length: lines.count }, (_, i) => i);
  order.sort((a, b) => lines.weight[a]! - lines.weight[b]!);
  const middle = (left + right) / 2;
  const styles = colors.map((color) => css(color));
  context.lineCap = "butt";
  for (const i of order) {
    const weight = lines.weight[i]!;
    const start = (lines.from[i]! + 0.5) * row - top;
    const end = (lines.to[i]! + 0.5) * row - top;
    context.globalAlpha = opacityOf(weight);
    context.lineWidth = widthOf(weight);
    context.strokeStyle = styles[lines.head[i]!]!;
    context.beginPath();
    context.moveTo(left, start);
    context.bezierCurveTo(middle, start, middle, end, right, end);
    context.stroke();
  }
  context.globalAlpha = 1;
}
