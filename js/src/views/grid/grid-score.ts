import { computed, type ReadonlySignal } from "@preact/signals-core";
import type { ScorePayload, Store } from "../../state/store";
import { restedHover } from "../../ui/debounced-hover";

/**
 * What colours the grid: the score that is set; or, while that is one of a pair of tokens, the same for the pinned
 * token and the one that the pointer rests on.
 */
export function shownScore(store: Store): {
  shown: ReadonlySignal<ScorePayload | null>;
  dispose: () => void;
} {
  const { score, level } = store.traits;
  const { rested, dispose } = restedHover(store);
  const shown = computed(() => {
    const [own, pin, at] = [score.value, store.pin.value, rested.value];
    if (!own?.pair || !pin || !at) return own;
    if (at.side === pin.side && at.index === pin.index) return own;
    const [from, to] = pin.side === "from" ? [pin.index, at.index] : [at.index, pin.index];
    const answer = store.answer({ kind: "between", from, to, level: level.value });
    return answer?.status === "ok" ? answer.content.score : own;
  });
  return { shown, dispose };
}
