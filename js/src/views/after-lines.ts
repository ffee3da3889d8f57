import { effect, type ReadonlySignal, signal, untracked } from "@preact/signals-core";
import type { Store } from "../state";

/** Milliseconds after which nothing waits for lines any longer. */
const PATIENCE = 300;

/**
 * What `read` gives, a moment later where the head view is on: its lines come first, and what else follows a layer would
 * hold up the frame that shows them.
 */
export function afterLines<Value>(
  store: Store,
  read: () => Value,
): { value: ReadonlySignal<Value>; dispose: () => void } {
  const value = signal(untracked(read));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first = true;
  const stop = effect(() => {
    const next = read();
    const at = store.traits.views.value.includes("head");
    clearTimeout(timer);
    const take = () => {
      clearTimeout(own);
      if (own === timer) value.value = next;
    };
    const own = setTimeout(() => take(), PATIENCE);
    timer = own;
    if (first || !at) take();
    else untracked(() => store.settled()).then(() => requestAnimationFrame(() => setTimeout(take)));
    first = false;
  });
  return {
    value,
    dispose() {
      stop();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
