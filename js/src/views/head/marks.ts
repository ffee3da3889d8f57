import { headRgb, type Rgb } from "../../drawing/colors";
import type { Place, Store } from "../../state/store";
import type { LookedAt } from "../../ui/focused-weights";
import { decimal } from "../../ui/number-format";
import type { Mark } from "./canvases";

/** How many weights are written beside the other side's tokens, and from which weight on. */
const NUMBERS = 10;
const LEAST_NUMBER = 0.01;
/** Weights under this are too faint to be seen as a tint. */
const LEAST_TINT = 0.004;

/**
 * The weights of the other side, as tints behind its tokens and, once exact and where there is room
 * (`numbers`), numbers beside them. `place[i]` is the row on screen of that side's item i, -1 where it has no lines.
 */
export function marksOf(
  now: LookedAt | null,
  focus: Place,
  place: Int32Array,
  dark: boolean,
  numbers: boolean,
): Mark[] {
  if (!now || !same(now.place, focus) || now.mean.length !== place.length) return [];
  const colors = now.heads.map((_, place) => headRgb(place, dark));
  const marks: Mark[] = [];
  for (const [index, weight] of now.mean.entries()) {
    if (weight < LEAST_TINT || place[index]! < 0) continue;
    const shares = now.heads.map(({ weights }) => weights[index]!);
    marks.push({ row: place[index]!, weight, color: mix(colors, shares), number: "" });
  }
  if (now.exact && numbers) {
    const strongest = [...marks].sort((a, b) => b.weight - a.weight).slice(0, NUMBERS);
    for (const mark of strongest) {
      if (mark.weight >= LEAST_NUMBER) mark.number = mark.weight.toFixed(2).replace(/^0/, "");
    }
  }
  return marks;
}

/** The strongest weights in words, for who hears the picture rather than sees it. */
export function sentence(store: Store, { place, heads, mean }: LookedAt): string {
  if (!place) return "";
  const other = store.items[place.side === "from" ? "to" : "from"].peek();
  const own = store.items[place.side].peek().label[place.index];
  const strongest = [...mean.keys()].sort((a, b) => mean[b]! - mean[a]!).slice(0, 3);
  const list = strongest.map((i) => `${other.label[i]} ${decimal(mean[i]!)}`).join(", ");
  const names = heads.map(({ name }) => name).join(", ");
  const verb = place.side === "from" ? "attends to" : "is attended to from";
  return `${own} ${verb} ${list}; ${heads.length > 1 ? "mean of heads" : "head"} ${names}`;
}

/** The same token on the same side. */
export function same(a: Place | null, b: Place | null): boolean {
  return a?.side === b?.side && a?.index === b?.index;
}

function mix(colors: readonly Rgb[], shares: readonly number[]): Rgb {
  const sum = shares.reduce((total, share) => total + share, 0) || 1;
  const channel = (c: 0 | 1 | 2) =>
    Math.round(colors.reduce((total, color, i) => total + color[c] * shares[i]!, 0) / sum);
  return [channel(0), channel(1), channel(2)];
}
