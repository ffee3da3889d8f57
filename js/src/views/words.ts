import { decimal } from "../drawing/number";
import { rank } from "../rank";
import type { ScorePayload, Store } from "../state";

/** Layer and head as everywhere on screen, both from 0. */
export function headName(layer: number, head: number): string {
  return `Head ${layer}-${head}`;
}

export function scoreTitle(score: ScorePayload): string {
  return score.title || score.name;
}

/** A score's value for one head with its unit; "undefined" where it has none. */
export function scoreValue(score: ScorePayload, layer: number, head: number): string {
  const value = score.values[layer]?.[head] ?? null;
  const text = decimal(value);
  return value === null || !score.unit ? text : `${text} ${score.unit}`;
}

export function rankWords(score: ScorePayload, layer: number, head: number): string {
  const found = rank(score, layer, head);
  return found ? `${found.place} of ${found.of}` : "";
}

/** "entropy 1.234 nats (3 of 72)" */
export function scoreWords(score: ScorePayload, layer: number, head: number): string {
  const place = rankWords(score, layer, head);
  return `${scoreTitle(score)} ${scoreValue(score, layer, head)}${place && ` (${place})`}`;
}

/** Scores that are here or may now be asked for: after the first lines are on screen, which come first. */
export function knownScores(store: Store): ScorePayload[] {
  const { views, score } = store.traits;
  const waits = views.value.includes("head") && !store.page.painted.value;
  const known = waits ? null : store.scores();
  if (known) return known;
  return score.value ? [score.value] : [];
}
