import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Theme } from "../drawing/ramp";

/** The theme of the frame that a view stands in, kept in step with it. */
export function followTheme(container: HTMLElement): {
  theme: ReadonlySignal<Theme>;
  dispose: () => void;
} {
  const frame = container.closest<HTMLElement>("[data-bl-theme]");
  const read = (): Theme => (frame?.dataset.blTheme === "dark" ? "dark" : "light");
  const theme = signal(read());
  const observer = new MutationObserver(() => {
    theme.value = read();
  });
  if (frame) observer.observe(frame, { attributeFilter: ["data-bl-theme"] });
  return { theme, dispose: () => observer.disconnect() };
}
