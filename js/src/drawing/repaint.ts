/** Something drawn in device pixels, again whenever that is needed. */
export interface Surface {
  /** Draws in the next animation frame; many calls make one drawing. */
  redraw(): void;
  dispose(): void;
}

/** Of what is inside an element's padding and scroll bars, CSS pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Milliseconds within which drawings wait for the next frame, one for all. */
const WHILE = 30;

/** Milliseconds until what could not be drawn is tried again. */
const AGAIN = 100;

/**
 * Calls `draw(ratio, size)` in an animation frame: when asked, when `watched` changes size or is shown again, and when
 * the screen's pixels change. Never while it has no width. Where it returns false it is called again soon: hosts that
 * change their theme take the page away for a moment.
 *
 * With `soon`, a drawing comes at the end of this turn, so that the next frame already shows it, unless `draw` returned
 * true, for something drawn, a moment ago: for what reads nothing of the page.
 *
 * The size is the last that the browser told: to ask for it would make it lay out the page once for each drawing.
 */
export function surface(
  watched: HTMLElement,
  draw: (ratio: number, size: Size) => boolean | undefined,
  soon = false,
): Surface {
  let frame = 0;
  let waits = false;
  let last = 0;
  let again: ReturnType<typeof setTimeout> | undefined;
  let size: Size | null = null;
  const paint = () => {
    frame = 0;
    if (!waits) return;
    waits = false;
    clearTimeout(again);
    const drawn = size && size.width > 0 ? draw(window.devicePixelRatio || 1, size) : undefined;
    if (drawn === false) again = setTimeout(redraw, AGAIN);
    if (drawn) last = performance.now();
  };
  const redraw = () => {
    if (waits) return;
    waits = true;
    if (soon && performance.now() - last > WHILE) queueMicrotask(paint);
    else frame = requestAnimationFrame(paint);
  };
  const sizes = new ResizeObserver(([entry]) => {
    size = entry!.contentRect;
    redraw();
  });
  sizes.observe(watched);
  let density: MediaQueryList | null = null;
  const watchDensity = () => {
    density?.removeEventListener("change", changed);
    density = matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    density.addEventListener("change", changed);
  };
  const changed = () => {
    watchDensity();
    redraw();
  };
  watchDensity();
  return {
    redraw,
    dispose() {
      waits = false;
      cancelAnimationFrame(frame);
      clearTimeout(again);
      sizes.disconnect();
      density?.removeEventListener("change", changed);
    },
  };
}
