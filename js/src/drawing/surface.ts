/** Something drawn in device pixels, again whenever that is needed. */
export interface Surface {
  /** Draws in the next animation frame; many calls make one drawing. */
  redraw(): void;
  dispose(): void;
}

/**
 * Calls `draw(ratio)` in an animation frame: when asked, when `watched` changes size or is shown again, and when the
 * screen's pixels change. Never while it has no width.
 */
export function surface(watched: HTMLElement, draw: (ratio: number) => void): Surface {
  let frame = 0;
  const redraw = () => {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (watched.clientWidth > 0) draw(window.devicePixelRatio || 1);
    });
  };
  const sizes = new ResizeObserver(redraw);
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
      sizes.disconnect();
      density?.removeEventListener("change", changed);
    },
  };
}
