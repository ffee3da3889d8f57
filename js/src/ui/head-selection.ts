import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import type { Store } from "../state/store";

export interface Head {
  layer: number;
  head: number;
}

/** Heads that are chosen in a picture of all of them. */
export interface Picking {
  /** The head that the pointer or the keyboard rests on. */
  inspected: ReadonlySignal<Head | null>;
  /** The head with this number, counted layer by layer. */
  headAt(index: number): Head;
  /** One head alone; with `add` beside those that are on, or off again. */
  choose(at: Head, add: boolean): void;
  /** Makes one head the tab stop. */
  rove(index: number, focus: boolean): void;
}

/**
 * Pointer and keys on `all`, which holds an element for every head with its number in `data-index`. `next` tells
 * where a key leads; null: it is none of ours. With `carry`, a head added from another layer takes the numbers that are
 * on along to that layer; without, it is chosen alone.
 */
export function picking(
  store: Store,
  all: HTMLElement,
  next: (index: number, key: string) => number | null,
  carry: boolean,
): Picking {
  const { layer, heads, meta } = store.traits;
  const inspected = signal<Head | null>(null);
  const headAt = (index: number) => {
    const { n_heads } = meta.peek();
    return { layer: Math.floor(index / n_heads), head: index % n_heads };
  };
  const indexOf = ({ target }: Event) => {
    const found = (target as Element).closest<HTMLElement>("[data-index]");
    return found && Number(found.dataset.index);
  };
  const choose = (at: Head, add: boolean) => {
    const others = heads.peek().filter((head) => head !== at.head);
    const here = at.layer === layer.peek();
    const beside = add && (here || carry);
    const off = beside && here && others.length < heads.peek().length;
    batch(() => {
      layer.value = at.layer;
      heads.value = off ? others : beside ? [...others, at.head] : [at.head];
    });
  };
  const rove = (index: number, focus: boolean) => {
    for (const stop of all.querySelectorAll('[data-index][tabindex="0"]')) {
      stop.setAttribute("tabindex", "-1");
    }
    const stop = all.querySelector<HTMLElement>(`[data-index="${index}"]`);
    stop?.setAttribute("tabindex", "0");
    if (focus) stop?.focus();
  };
  for (const rests of ["pointerover", "focusin"]) {
    all.addEventListener(rests, (event) => {
      const index = indexOf(event);
      inspected.value = index === null ? null : headAt(index);
    });
  }
  for (const leaves of ["pointerleave", "focusout"]) {
    all.addEventListener(leaves, () => {
      inspected.value = null;
    });
  }
  all.addEventListener("click", (event) => {
    const index = indexOf(event);
    if (index === null) return;
    rove(index, true);
    choose(headAt(index), event.shiftKey);
  });
  all.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    if (index === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") choose(headAt(index), event.shiftKey);
    else {
      const to = next(index, event.key);
      if (to === null) return;
      rove(to, true);
    }
    event.preventDefault();
    event.stopPropagation();
  });
  return { inspected, headAt, choose, rove };
}
