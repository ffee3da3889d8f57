import type { Scale } from "../../drawing/color-scale";
import type { MappedHeads, ScorePayload } from "../../state/traits";

/** Where a head's point lies in a plot, as shares of its width and height from the top left; null: nowhere. */
export type Place2 = { x: number; y: number } | null;

/** Heads where they behave alike, one entry a head, layer by layer. */
export function alike(map: MappedHeads): Place2[] {
  return map.points.flatMap((row) => row.map(([x, y]) => ({ x, y: 1 - y })));
}

/** Heads by layer (across) and by a score's value (up). */
export function byLayer(score: ScorePayload, scale: Scale): Place2[] {
  const layers = score.values.length;
  return score.values.flatMap((row, layer) =>
    row.map((value) =>
      value === null ? null : { x: acrossLayers(layer, layers), y: 1 - scale.at(value) },
    ),
  );
}

/** Where a layer's points stand, in the middle of an equal share of the width. */
export function acrossLayers(layer: number, layers: number): number {
  return (layer + 0.5) / layers;
}

/** The mean of each layer's values; null where there are none. */
export function layerMeans({ values }: ScorePayload): (number | null)[] {
  return values.map((row) => {
    const known = row.filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  });
}

const DIRECTIONS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * The point that an arrow key leads to: the nearest within the quarter turn that the arrow points into, the lowest index
 * of those as near; the point itself where there is none. Null for other keys.
 */
export function toward(places: readonly Place2[], from: number, key: string): number | null {
  const direction = DIRECTIONS[key];
  const here = places[from];
  if (!direction || !here) return null;
  const [dx, dy] = direction;
  let [best, nearest] = [from, Number.POSITIVE_INFINITY];
  for (const [index, place] of places.entries()) {
    if (!place || index === from) continue;
    const [x, y] = [place.x - here.x, place.y - here.y];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    const distance = Math.hypot(x, y);
    if (ahead > 0 && ahead >= aside && distance < nearest) [best, nearest] = [index, distance];
  }
  return best;
}
