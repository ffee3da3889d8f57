import type { Lines } from "../drawing/line-curves";
import { decoded, type Side } from "./decode";

/** Lines by the texts of a pair that they lead from and to. */
export type SegmentFilter = "all" | "a->a" | "a->b" | "b->a" | "b->b";

/** What is drawn of some maps of one text. */
export interface Choice {
  /** Codes [rows, columns] of each head shown. */
  maps: readonly Uint8Array[];
  columns: number;
  /** The row on screen of each item, -1 where it has no lines. */
  fromPlace: Int32Array;
  toPlace: Int32Array;
  /** For each head, what each row is divided by; null: nothing. */
  left: readonly Float32Array[] | null;
  minWeight: number;
}

/** Rows on screen, first and last, that a line must touch or cross. */
export interface Window {
  first: number;
  last: number;
}

/** The lines of some maps that pass a window of the screen; with `only`, those of one item. */
export function linesOf(
  { maps, columns, fromPlace, toPlace, left, minWeight }: Choice,
  window: Window,
  only: { side: Side; index: number } | null = null,
): Lines {
  const lines = emptyLines(1024);
  const { first, last } = window;
  const [rowStart, rowEnd] =
    only?.side === "from" ? [only.index, only.index + 1] : [0, fromPlace.length];
  const [colStart, colEnd] = only?.side === "to" ? [only.index, only.index + 1] : [0, columns];
  // Rows on screen only grow from item to item: a line from above the window ends in it or below, and so on.
  const belowTop = toPlace.findIndex((place) => place >= first);
  const enters = Math.max(colStart, belowTop < 0 ? columns : belowTop);
  const leaves = Math.min(
    colEnd,
    toPlace.findLastIndex((place) => place >= 0 && place <= last) + 1,
  );
  for (const [head, codes] of maps.entries()) {
    for (let row = rowStart; row < rowEnd; row++) {
      const from = fromPlace[row]!;
      if (from < 0) continue;
      const share = left ? left[head]![row]! : 1;
      const threshold = codeOf(minWeight * share);
      const end = row * columns + (from > last ? leaves : colEnd);
      for (let at = row * columns + (from < first ? enters : colStart); at < end; at++) {
        const code = codes[at]!;
        if (code < threshold) continue;
        const to = toPlace[at - row * columns]!;
        if (to >= 0) push(lines, head, from, to, decoded[code]! / share);
      }
    }
  }
  return lines;
}

/** The least code whose weight reaches `weight`; 0 is never drawn. */
export function codeOf(weight: number): number {
  return Math.max(1, Math.ceil(255 * Math.sqrt(weight) - 1e-6));
}

/** Share of the weight of `maps`, 0 to 1, in lines too weak to be drawn, among those that could be. */
export function weakShare({ maps, columns, fromPlace, toPlace, left, minWeight }: Choice): number {
  const all = fromPlace.every(shown) && toPlace.every(shown);
  let weak = 0;
  let sum = 0;
  const add = (counts: Uint32Array, share: number) => {
    const threshold = codeOf(minWeight * share);
    for (let code = 1; code < 256; code++) {
      const weight = (counts[code]! * decoded[code]!) / share;
      sum += weight;
      if (code < threshold) weak += weight;
    }
  };
  for (const [head, codes] of maps.entries()) {
    if (all && !left) {
      add(countsOf(codes), 1);
      continue;
    }
    const counts = new Uint32Array(256);
    for (const [row, from] of fromPlace.entries()) {
      if (from < 0) continue;
      for (let col = 0, at = row * columns; col < columns; col++, at++) {
        if (toPlace[col]! >= 0) counts[codes[at]!]!++;
      }
      if (left) {
        add(counts, left[head]![row]!);
        counts.fill(0);
      }
    }
    if (!left) add(counts, 1);
  }
  return sum > 0 ? weak / sum : 0;
}

const shown = (place: number) => place >= 0;
const counted = new WeakMap<Uint8Array, Uint32Array>();

/** How often each code stands in a map: counted once, for millions of weights take a while. */
function countsOf(codes: Uint8Array): Uint32Array {
  const known = counted.get(codes);
  if (known) return known;
  const counts = new Uint32Array(256);
  for (let at = 0; at < codes.length; at++) counts[codes[at]!]!++;
  counted.set(codes, counts);
  return counts;
}

/** Share of what tokens other than special ones give that goes to special tokens, 0 to 1. */
export function specialShare(
  maps: readonly Uint8Array[],
  columns: number,
  specialFrom: readonly number[],
  specialTo: readonly number[],
): number {
  const counts = [new Uint32Array(256), new Uint32Array(256)] as const;
  for (const codes of maps) {
    for (let row = 0; row < specialFrom.length; row++) {
      if (specialFrom[row]) continue;
      const start = row * columns;
      for (let col = 0; col < columns; col++) {
        counts[specialTo[col] ? 1 : 0][codes[start + col]!]!++;
      }
    }
  }
  const [rest, special] = counts.map((of) =>
    of.reduce((sum, count, code) => sum + count * decoded[code]!, 0),
  ) as [number, number];
  return rest + special > 0 ? special / (rest + special) : 0;
}

/** Whether a segment takes part on one side under a filter such as "a->b". */
export function passes(filter: SegmentFilter, side: Side, segment: number): boolean {
  if (filter === "all") return true;
  const name = side === "from" ? filter[0] : filter[3];
  return (name === "b") === (segment === 1);
}

function emptyLines(capacity: number): Lines {
  return {
    count: 0,
    head: new Uint8Array(capacity),
    from: new Int32Array(capacity),
    to: new Int32Array(capacity),
    weight: new Float32Array(capacity),
  };
}

function push(lines: Lines, head: number, from: number, to: number, weight: number): void {
  if (lines.count === lines.head.length) {
    const wider = emptyLines(lines.count * 2);
    wider.head.set(lines.head);
    wider.from.set(lines.from);
    wider.to.set(lines.to);
    wider.weight.set(lines.weight);
    lines.head = wider.head;
    lines.from = wider.from;
    lines.to = wider.to;
    lines.weight = wider.weight;
  }
  lines.head[lines.count] = head;
  lines.from[lines.count] = from;
  lines.to[lines.count] = to;
  lines.weight[lines.count] = weight;
  lines.count++;
}
