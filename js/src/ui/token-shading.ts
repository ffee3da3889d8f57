import { element } from "./element";

/** A token's boxes, one a line that it stands on, CSS pixels from the corner of the text. */
type Boxes = readonly DOMRectReadOnly[];

/** Browsers draw no canvas that is higher than this. */
const MOST = 16_000;

/**
 * Shades behind the tokens of a running text, drawn on a canvas: to give hundreds of tokens another style takes longer
 * than all else that a view does.
 */
export class Shades {
  readonly #text: HTMLElement;
  readonly #canvas = element("canvas", { class: "bl-shades", "aria-hidden": "true" });
  #tokens: readonly HTMLElement[] = [];
  #boxes: Boxes[] | null = null;
  #colours: readonly string[] = [];

  /** `text`: what holds the tokens, positioned. */
  constructor(text: HTMLElement) {
    this.#text = text;
    new ResizeObserver(() => {
      this.#boxes = null;
      this.#paint();
    }).observe(text);
  }

  /** Stands behind other tokens, none of them shaded. */
  show(tokens: readonly HTMLElement[]): void {
    this.#tokens = tokens;
    this.#boxes = null;
    this.#colours = [];
    this.#text.prepend(this.#canvas);
    this.#canvas.height = 0;
  }

  /** One CSS colour a token; "" for none. False: the text has no width now, and keeps what it had. */
  shade(colours: readonly string[]): boolean {
    if (colours.length === 0 && this.#colours.length === 0) return true;
    this.#colours = colours;
    for (const [i, token] of this.#tokens.entries()) {
      // what is faint by itself must be read over a shade
      if (token.dataset.special !== undefined) token.toggleAttribute("data-shaded", !!colours[i]);
    }
    return this.#paint();
  }

  #paint(): boolean {
    if (this.#colours.length === 0) {
      this.#canvas.height = 0;
      return true;
    }
    const { width, height, left, top } = this.#text.getBoundingClientRect();
    if (width === 0) return false;
    this.#boxes ??= this.#tokens.map((token) =>
      [...token.getClientRects()].map(
        (box) => new DOMRectReadOnly(box.x - left, box.y - top, box.width, box.height),
      ),
    );
    const ratio = Math.min(window.devicePixelRatio || 1, MOST / height);
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const context = this.#canvas.getContext("2d");
    if (!context) return true;
    context.scale(ratio, ratio);
    const rtl = this.#text.parentElement?.dir === "rtl";
    for (const [i, boxes] of this.#boxes.entries()) {
      const colour = this.#colours[i];
      if (!colour) continue;
      context.fillStyle = colour;
      context.beginPath();
      // Pieces of one word make one shape.
      const start = this.#joined(i) ? 0 : 3;
      const end = this.#joined(i + 1) ? 0 : 3;
      const [l, r] = rtl ? [end, start] : [start, end];
      for (const { x, y, width, height } of boxes) {
        context.roundRect(x, y, width, height, [l, r, r, l]);
      }
      context.fill();
    }
    return true;
  }

  #joined(index: number): boolean {
    return this.#tokens[index]?.dataset.joined !== undefined;
  }
}
