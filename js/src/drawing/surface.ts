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

/** Milliseconds until what could not be drawn is tried again. */
const AGAIN = 100;

/**
 * Calls `draw(ratio, size)` in an animation frame: when asked, when `watched` changes size or is shown again, and when
 * the screen's pixels change. Never while it has no width. Where it returns false it is called again soon: hosts that
 * change their theme take the page away for a moment.
 *
 * The size is the last that the browser told: to ask for it would make it lay out the page once for each drawing.
 */
export function surface(
  watched: HTMLElement,
  draw: (ratio: number, size: Size) => boolean | undefined,
): Surface {
  let frame = 0;
  let again: ReturnType<typeof setTimeout> | undefined;
  let size: Size | null = null;
  const redraw = () => {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      clearTimeout(again);
      size ??= { width: watched.clientWidth, height: watched.clientHeight };
      if (size.width > 0 && draw(window.devicePixelRatio || 1, size) === false) {
        again = setTimeout(redraw, AGAIN);
      }
    });
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
      cancelAnimationFrame(frame);
      clearTimeout(again);
      sizes.disconnect();
      density?.removeEventListener("change", changed);
    },
  };
}
