import { effect, type ReadonlySignal, signal } from "@preact/signals-core";
import type { Place, Store } from "../state/store";

/** Milliseconds that the pointer rests before the kernel is asked. */
const REST = 150;

/** What the pointer rests on, for what is asked of the kernel: null at once when it leaves. */
export function restedHover(store: Store): {
  rested: ReadonlySignal<Place | null>;
  dispose: () => void;
} {
  const rested = signal<Place | null>(null);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    const at = store.page.hover.value;
    clearTimeout(timer);
    if (!at) rested.value = null;
    else
      timer = setTimeout(() => {
        rested.value = at;
      }, REST);
  });
  return {
    rested,
    dispose() {
      stop();
      clearTimeout(timer);
    },
  };
}
