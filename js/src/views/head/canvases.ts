import { css, type Rgb } from "../../drawing/colors";
import { drawCurves, type Field, type Lines } from "../../drawing/line-curves";
import { Raster } from "../../drawing/line-raster";
import { element } from "../../ui/element";

/** More lines than this are rasterised: canvas curves cost some 50 microseconds each. */
const CURVES = 500;
/** More lines than this are rasterised at one pixel a CSS pixel, whatever the screen has, and at half of one across. */
const COARSE = 4_000;
/** Pixels times heads that may be rasterised at once: wide pictures are drawn narrower and stretched. */
const PIXELS = 4_000_000;
/** What is drawn beyond the part on screen, CSS pixels, so that short scrolls need no drawing. */
const BEYOND = 80;

/** Sizes in CSS pixels, measured once for each layout. */
export interface Measures {
  width: number;
  /** Where the columns end and begin: lines run between. */
  left: number;
  right: number;
  row: number;
  /** Height of all rows. */
  height: number;
}

/** A band of the whole drawing: only this much is painted. */
export interface Band {
  top: number;
  height: number;
}

/** What goes beside the labels of the other side while one token is looked at. */
export interface Mark {
  /** Row on screen. */
  row: number;
  weight: number;
  color: Rgb;
  /** Shown at the outer edge; empty: nothing. */
  number: string;
}

/** Two canvases behind the columns: all lines below, those of the token looked at above. */
export class Stage {
  readonly base: HTMLCanvasElement;
  readonly top: HTMLCanvasElement;
  readonly #raster = new Raster();

  constructor() {
    const hidden = { "aria-hidden": "true" };
    this.base = element("canvas", { class: "bl-canvas bl-canvas-base", ...hidden });
    this.top = element("canvas", { class: "bl-canvas bl-canvas-top", ...hidden });
  }

  drawBase(
    lines: Lines,
    colors: readonly Rgb[],
    measures: Measures,
    band: Band,
    ratio: number,
  ): void {
    const { left, right, row } = measures;
    const width = right - left;
    const many = lines.count > CURVES;
    const crowd = lines.count > COARSE;
    const down = crowd ? Math.min(1, ratio) : ratio;
    const across = many
      ? Math.min(crowd ? down / 2 : down, PIXELS / (colors.length * width * band.height * down))
      : down;
    const [w, h] = size(this.base, width, band.height, across, down);
    this.base.style.translate = `${left}px ${band.top}px`;
    const context = this.base.getContext("2d")!;
    const field: Field = { left: 0, right: width, row, top: band.top };
    if (many) {
      const y = h / band.height;
      context.putImageData(this.#raster.draw(lines, colors, field, w, h, y), 0, 0);
      return;
    }
    context.setTransform(w / width, 0, 0, h / band.height, 0, 0);
    drawCurves(context, lines, colors, field);
  }

  drawTop(
    lines: Lines,
    marks: readonly Mark[],
    side: "from" | "to",
    colors: readonly Rgb[],
    measures: Measures,
    band: Band,
    ratio: number,
    ink: { color: string; font: string },
  ): void {
    const { left, right, row, width } = measures;
    const [w, h] = size(this.top, width, band.height, ratio, ratio);
    this.top.style.translate = `0px ${band.top}px`;
    const context = this.top.getContext("2d")!;
    const field: Field = { left, right, row, top: band.top };
    const { x, y } = { x: w / width, y: h / band.height };
    if (lines.count > CURVES) {
      const across = Math.round((right - left) * x);
      const image = this.#raster.draw(lines, colors, field, across, h, y);
      context.putImageData(image, Math.round(left * x), 0);
    }
    context.setTransform(x, 0, 0, y, 0, 0);
    if (lines.count <= CURVES) drawCurves(context, lines, colors, field);
    this.#drawMarks(context, marks, side, measures, band, ink);
  }

  #drawMarks(
    context: CanvasRenderingContext2D,
    marks: readonly Mark[],
    side: "from" | "to",
    { left, right, width, row }: Measures,
    band: Band,
    ink: { color: string; font: string },
  ): void {
    const [start, end] = side === "from" ? [0, left] : [right, width];
    context.font = ink.font;
    context.textBaseline = "middle";
    context.textAlign = side === "from" ? "left" : "right";
    for (const mark of marks) {
      const y = mark.row * row - band.top;
      if (y < -row || y > band.height) continue;
      context.fillStyle = css(mark.color, 0.06 + 0.5 * Math.min(1, mark.weight));
      context.beginPath();
      context.roundRect(start + 2, y + 1, end - start - 4, row - 2, 3);
      context.fill();
      if (!mark.number) continue;
      context.fillStyle = ink.color;
      context.fillText(mark.number, side === "from" ? start + 6 : end - 6, y + row / 2 + 0.5);
    }
  }

  clearTop(): void {
    this.top.width = 0;
  }
}

/** Gives a canvas its pixels, clearing it; returns them. */
function size(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  across: number,
  down: number,
) {
  const w = Math.max(1, Math.round(width * across));
  const h = Math.max(1, Math.round(height * down));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  } else {
    const context = canvas.getContext("2d")!;
    context.resetTransform();
    context.clearRect(0, 0, w, h);
  }
  return [w, h] as const;
}

/** The band to draw for a scroller at `scrollTop` that shows `shown` of `height`. */
export function bandFor(scrollTop: number, shown: number, height: number): Band {
  const top = Math.max(0, Math.floor(scrollTop - BEYOND));
  const bottom = Math.min(height, Math.ceil(scrollTop + shown + BEYOND));
  return { top, height: Math.max(1, bottom - top) };
}

/** Whether a band still covers what is on screen. */
export function covers(band: Band, scrollTop: number, shown: number, height: number): boolean {
  const bottom = Math.min(height, scrollTop + shown);
  return band.top <= Math.max(0, scrollTop) && band.top + band.height >= bottom;
}
