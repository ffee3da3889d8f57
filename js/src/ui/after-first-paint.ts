import { effect, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import type { Store } from "../state/store";

/** Milliseconds after which nothing waits for lines any longer. */
export const PATIENCE = 300;

/**
 * What `read` gives, a moment later where the head view is on: its lines come first, and what else follows a layer would
 * hold up the frame that shows them.
 */
export function afterLines<Value>(
  store: Store,
  read: () => Value,
): { value: ReadonlySignal<Value>; dispose: () => void } {
  const value = signal(untracked(read));
  let first = true;
  const dispose = effect(() => {
    const next = read();
    const waits = store.traits.views.value.includes("head");
    if (first || !waits) {
      first = false;
      value.value = next;
      return;
    }
    let over = false;
    const take = () => {
      if (!over) value.value = next;
    };
    const timer = setTimeout(take, PATIENCE);
    untracked(() => store.settled()).then(() => requestAnimationFrame(() => setTimeout(take)));
    return () => {
      over = true;
      clearTimeout(timer);
    };
  });
  return { value, dispose };
}
