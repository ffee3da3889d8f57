import { expect, test } from "vitest";
import { rank } from "../../src/attention/score-rank";
import type { ScorePayload } from "../../src/state/traits";

function score(values: (number | null)[][], notable: "high" | "low"): ScorePayload {
  const none = { low: null, high: null, baseline: null, support: null, categories: [] };
  return { name: "s", unit: "", description: "", notable, values, ...none };
}

test("rank counts from the notable end and leaves out undefined heads", () => {
  const values = [
    [0.1, 0.5],
    [null, 0.3],
  ];
  expect(rank(score(values, "high"), 0, 1)).toEqual({ place: 1, of: 3 });
  expect(rank(score(values, "high"), 1, 1)).toEqual({ place: 2, of: 3 });
  expect(rank(score(values, "low"), 0, 1)).toEqual({ place: 3, of: 3 });
});

test("ties go to the lowest layer, then head", () => {
  const even = score(
    [
      [1, 1],
      [1, 1],
    ],
    "high",
  );
  expect(rank(even, 0, 0)?.place).toBe(1);
  expect(rank(even, 0, 1)?.place).toBe(2);
  expect(rank(even, 1, 0)?.place).toBe(3);
});

test("an undefined head has no rank", () => {
  expect(rank(score([[null, 1]], "high"), 0, 0)).toBeNull();
  expect(rank(score([[null, 1]], "high"), 4, 0)).toBeNull();
});
