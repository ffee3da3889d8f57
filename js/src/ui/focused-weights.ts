import { computed, type ReadonlySignal } from "@preact/signals-core";
import { itemWeights, meanWeights, remaining } from "../attention/decode";
import type { Place, Store } from "../state/store";
import { restedHover } from "./debounced-hover";

/** The weights of what is looked at now, for the heads that are on. */
export interface LookedAt {
  /** The item looked at; null: what each item receives on average. */
  place: Place | null;
  heads: readonly { name: string; head: number; weights: Float32Array }[];
  mean: Float32Array;
  exact: boolean;
}

/**
 * Follows the pointer at once from maps that are on the page, and asks for exact weights of what is pinned, of what
 * the pointer rests on, and of what all items receive. Null while nothing is known.
 */
export function followLook(store: Store): {
  looked: ReadonlySignal<LookedAt | null>;
  dispose: () => void;
} {
  const { layer, heads, special } = store.traits;
  const { rested, dispose } = restedHover(store);

  const left = new WeakMap<Uint8Array, Float32Array>();
  const fromMap = (head: number, place: Place): Float32Array | null => {
    const codes = store.block(layer.value, head);
    if (!codes) return null;
    const [rows, columns] = [store.items.from.value.size, store.items.to.value.size];
    if (codes.length !== rows * columns || place.index >= (place.side === "from" ? rows : columns))
      return null;
    const map = { codes, rows, columns };
    const specialTo = store.items.to.value.special;
    let rest: Float32Array | null = null;
    if (special.value === "renormalise") {
      rest = left.get(codes) ?? remaining(map, specialTo);
      left.set(codes, rest);
    }
    return itemWeights(map, place.side, place.index, rest, specialTo);
  };

  const looked = computed((): LookedAt | null => {
    const place = store.focus.value;
    const on = heads.value;
    if (on.length === 0 || store.items.from.value.size === 0) return null;
    const settled = !place || !store.page.hover.value || rested.value === place;
    const row = settled
      ? store.row({
          layer: layer.value,
          heads: on,
          index: place?.index ?? null,
          side: place?.side ?? "from",
        })
      : null;
    const weights = row
      ? on.map((_, i) => row.data.subarray(i * row.n, (i + 1) * row.n))
      : place && on.map((head) => fromMap(head, place));
    if (!weights?.every((own) => own !== null)) return null;
    return {
      place,
      heads: on.map((head, i) => ({ name: `${layer.value}-${head}`, head, weights: weights[i]! })),
      mean: meanWeights(weights),
      exact: row !== null,
    };
  });
  return { looked, dispose };
}
