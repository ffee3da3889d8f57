import { rank } from "../attention/score-rank";
import type { ScorePayload, Store } from "../state/store";
import { decimal } from "./number-format";

/** Layer and head as everywhere on screen, both from 0. */
export function headName(layer: number, head: number): string {
  return `Head ${layer}-${head}`;
}

export function scoreTitle(score: ScorePayload): string {
  return score.title || score.name.replaceAll("_", " ");
}

/** A score's value for one head: a number, or the name that it stands for; "undefined" where it has none. */
export function scoreValue(score: ScorePayload, layer: number, head: number): string {
  const value = score.values[layer]?.[head] ?? null;
  const names = score.categories ?? [];
  return value === null || names.length === 0 ? decimal(value) : names[value] || "none";
}

export function rankWords(score: ScorePayload, layer: number, head: number): string {
  const found = rank(score, layer, head);
  return found ? `${found.place} of ${found.of}` : "";
}

/** A unit that has room beside a number; others are told elsewhere. */
export function shortUnit({ unit }: ScorePayload): string {
  return unit.length > 8 ? "" : unit;
}

/** Scores by how far ahead a head is; a name that fits it comes first, what says nothing of it last. */
export function byRank(
  known: readonly ScorePayload[],
  layer: number,
  head: number,
): ScorePayload[] {
  const share = (score: ScorePayload) => {
    const found = rank(score, layer, head);
    if (found) return found.place / found.of;
    return score.categories?.[score.values[layer]?.[head] ?? -1] ? 0 : 2;
  };
  return [...known].sort((a, b) => share(a) - share(b));
}

/** "entropy 1.234 nats (3 of 72)" */
export function scoreWords(score: ScorePayload, layer: number, head: number): string {
  const place = rankWords(score, layer, head);
  const unit = place && shortUnit(score);
  return `${scoreTitle(score)} ${scoreValue(score, layer, head)}${unit && ` ${unit}`}${place && ` (${place})`}`;
}

/** Scores that are here or may now be asked for: after the first lines are on screen, which come first. */
export function knownScores(store: Store): ScorePayload[] {
  const { views, score } = store.traits;
  const waits = views.value.includes("head") && !store.page.painted.value;
  const known = waits ? null : store.scores();
  if (known) return known;
  return score.value ? [score.value] : [];
}
