import { type ReadonlySignal, signal } from "@preact/signals-core";

/** Hosts name their themes in ways of their own; the ground that the widget stands on is what counts. */
export interface Ground {
  dark: ReadonlySignal<boolean>;
  /** Looks again, for instance when the widget is shown. */
  look(): void;
  dispose(): void;
}

/** Watches whether the ground behind `el` is dark, and keeps `data-bl-theme` on `el` in step. */
export function watchGround(el: HTMLElement): Ground {
  const dark = signal(isDark(el));
  const look = () => {
    dark.value = isDark(el);
    const theme = dark.value ? "dark" : "light";
    if (el.dataset.blTheme !== theme) el.dataset.blTheme = theme;
  };
  look();
  // Themes change by class, attribute or style on the document's outer elements.
  const observer = new MutationObserver(() => requestAnimationFrame(look));
  const { documentElement, body } = el.ownerDocument;
  const attributes = true;
  for (const outer of [documentElement, body]) observer.observe(outer, { attributes });
  observer.observe(el.ownerDocument.head, { childList: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", look);
  return {
    dark,
    look,
    dispose() {
      observer.disconnect();
      scheme.removeEventListener("change", look);
    },
  };
}

/** Whether the nearest opaque background behind an element is dark; without one, what the system prefers. */
export function isDark(el: HTMLElement): boolean {
  let at: Element | null = el.parentElement ?? hostOf(el);
  while (at) {
    const luminance = luminanceOf(getComputedStyle(at).backgroundColor);
    if (luminance !== null) return luminance < 0.4;
    at = at.parentElement ?? hostOf(at);
  }
  const root = getComputedStyle(el.ownerDocument.documentElement);
  if (/^(dark|only dark|dark only)$/.test(root.colorScheme)) return true;
  // A page that says nothing is white, unless it follows the system.
  return root.colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Relative luminance of a CSS rgb() colour, 0 to 1; null when it lets what is behind shine through. */
export function luminanceOf(color: string): number | null {
  const numbers = color.match(/[\d.]+/g)?.map(Number);
  if (!numbers || numbers.length < 3) return null;
  const [r = 0, g = 0, b = 0, alpha = 1] = numbers;
  if (alpha < 0.5) return null;
  const scale = color.startsWith("color(") ? 1 : 255;
  const [lr, lg, lb] = [r, g, b].map((v) => {
    const c = v / scale;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * lr! + 0.7152 * lg! + 0.0722 * lb!;
}

function hostOf(el: Element): Element | null {
  const root = el.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
