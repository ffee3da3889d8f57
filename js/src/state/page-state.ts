import { type Signal, signal } from "@preact/signals-core";
import type { Side } from "./traits";

/** A place in one of the two columns; `index` counts items (tokens or words) of the current level. */
export interface Place {
  side: Side;
  index: number;
}

/** What only this page knows: nothing here reaches the kernel or a saved notebook. */
export interface Page {
  /** What the pointer (or the keyboard's focus) rests on. */
  hover: Signal<Place | null>;
  /** A cell of the matrix under the pointer. */
  cell: Signal<{ from: number; to: number } | null>;
  /** A text is being run. */
  busy: Signal<boolean>;
  /** What the person should know now, such as that the model is busy. */
  notice: Signal<string | null>;
  /** What went wrong, in words. */
  error: Signal<string | null>;
  /** The first lines are on screen: what can wait may now be asked for. */
  painted: Signal<boolean>;
}

export function createPage(): Page {
  return {
    hover: signal(null),
    cell: signal(null),
    busy: signal(false),
    notice: signal(null),
    error: signal(null),
    painted: signal(false),
  };
}
