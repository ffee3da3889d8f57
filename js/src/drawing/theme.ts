import { type ReadonlySignal, signal } from "@preact/signals-core";
import { css, headRgb, readableOn } from "./colors";

/** Hosts name their themes in ways of their own; the ground that the widget stands on is what counts. */
export interface Ground {
  dark: ReadonlySignal<boolean>;
  /** Grows whenever colours may have changed, for what is painted with them. */
  looks: ReadonlySignal<number>;
  /** Looks again, for instance when the widget is shown. */
  look(): void;
  dispose(): void;
}

const grounds = new WeakMap<Element, Ground>();

/** The ground of the frame that holds `el`. */
export function groundOf(el: Element): Ground {
  const frame = el.closest(".bl-frame");
  const ground = frame && grounds.get(frame);
  if (!ground) throw new Error("bertlens: a view needs a frame around it");
  return ground;
}

/** Watches what is behind `frame`, and keeps its theme in step with it. */
export function watchGround(frame: HTMLElement): Ground {
  const dark = signal(false);
  const looks = signal(0);
  let ink = "";
  const look = () => {
    const { luminance } = behind(frame);
    dark.value = luminance < 0.4;
    frame.dataset.blTheme = dark.value ? "dark" : "light";
    delete frame.dataset.blColors;
    const wanted = getComputedStyle(frame).color;
    if (contrast(luminanceOf(wanted) ?? luminance, luminance) < 4.5) frame.dataset.blColors = "own";
    const now = `${dark.value} ${getComputedStyle(frame).color}`;
    if (now !== ink) looks.value += 1;
    ink = now;
  };
  look();
  // Themes change by class, attribute or style on the document's outer elements, or by a new sheet.
  // JupyterLab swaps its icon whenever the kernel turns busy or idle: no reason to style the page anew.
  let next = 0;
  const observer = new MutationObserver((records) => {
    if (records.every(isIcon)) return;
    cancelAnimationFrame(next);
    next = requestAnimationFrame(look);
  });
  const { documentElement, body, head } = frame.ownerDocument;
  for (const outer of [documentElement, body]) observer.observe(outer, { attributes: true });
  observer.observe(head, { childList: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", look);
  const ground = {
    dark,
    looks,
    look,
    dispose() {
      observer.disconnect();
      cancelAnimationFrame(next);
      scheme.removeEventListener("change", look);
    },
  };
  grounds.set(frame, ground);
  return ground;
}

/** Colours of the heads that are on as variables: `--bl-head-3`, and `--bl-on-head-3` for what is written on it. */
export function headVariables(heads: readonly number[], dark: boolean): string {
  const list = heads.map((head, place) => {
    const color = headRgb(place, dark);
    return `--bl-head-${head}:${css(color)};--bl-on-head-${head}:${readableOn(color)}`;
  });
  return list.join(";");
}

/** The luminance of the nearest opaque background behind an element. */
export function behind(el: Element): { luminance: number } {
  for (let at = parentOf(el); at; at = parentOf(at)) {
    const luminance = luminanceOf(getComputedStyle(at).backgroundColor);
    if (luminance !== null) return { luminance };
  }
  // A page that paints nothing shows the canvas of its colour scheme.
  const scheme = getComputedStyle(el.ownerDocument.documentElement).colorScheme;
  const system = matchMedia("(prefers-color-scheme: dark)").matches;
  const dark = scheme.includes("dark") && (system || !scheme.includes("light"));
  return { luminance: dark ? 0 : 1 };
}

/** Relative luminance of a computed CSS colour, 0 to 1; null when it lets what is behind shine through. */
export function luminanceOf(color: string): number | null {
  const numbers = color
    .replace(/^color\(\S+/, "")
    .match(/[\d.]+(e-?\d+)?/g)
    ?.map(Number);
  if (!numbers || numbers.length < 3) return null;
  const [r = 0, g = 0, b = 0, alpha = 1] = numbers;
  if (alpha < 0.5) return null;
  const scale = color.startsWith("color(") ? 1 : 255;
  const [lr = 0, lg = 0, lb = 0] = [r, g, b].map((value) => {
    const c = value / scale;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * lr + 0.7152 * lg + 0.0722 * lb;
}

/** Contrast of two luminances, 1 to 21 (WCAG 2). */
export function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function isIcon({ addedNodes, removedNodes }: MutationRecord): boolean {
  const nodes = [...addedNodes, ...removedNodes];
  return (
    nodes.length > 0 && nodes.every((node) => (node as HTMLLinkElement).relList?.contains("icon"))
  );
}

function parentOf(el: Element): Element | null {
  if (el.parentElement) return el.parentElement;
  const root = el.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
