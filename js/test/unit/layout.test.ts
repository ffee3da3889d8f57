import { expect, test } from "vitest";
import { linearScale } from "../../src/drawing/color-scale";
import type { ScorePayload } from "../../src/state/traits";
import { alike, byLayer, layerMeans, toward } from "../../src/views/head-map/layout";

const score: ScorePayload = {
  name: "entropy",
  unit: "nats",
  description: "",
  notable: "low",
  values: [
    [0, 4],
    [null, 2],
    [null, null],
  ],
  low: null,
  high: null,
  baseline: null,
  support: null,
  categories: [],
};

test("on the page up is towards zero", () => {
  const map = {
    points: [
      [
        [0, 0],
        [1, 0.25],
      ],
    ] as [number, number][][],
    labels: [[0, 0]],
    categories: [""],
    texts: 1,
  };
  expect(alike(map)).toEqual([
    { x: 0, y: 1 },
    { x: 1, y: 0.75 },
  ]);
});

test("by layer a head without a value lies nowhere", () => {
  const places = byLayer(score, linearScale(score.values.flat())!);
  expect(places).toEqual([
    { x: 1 / 6, y: 1 },
    { x: 1 / 6, y: 0 },
    null,
    { x: 1 / 2, y: 0.5 },
    null,
    null,
  ]);
});

test("means of layers are of the values there are", () => {
  expect(layerMeans(score)).toEqual([2, 2, null]);
});

test("an arrow leads to the nearest point in its direction, and stays where there is none", () => {
  const places = [
    { x: 0.5, y: 0.5 },
    { x: 0.9, y: 0.6 },
    { x: 0.7, y: 0.5 },
    { x: 0.5, y: 0.1 },
    null,
  ];
  expect(toward(places, 0, "ArrowRight")).toBe(2);
  expect(toward(places, 2, "ArrowRight")).toBe(1);
  expect(toward(places, 0, "ArrowUp")).toBe(3);
  expect(toward(places, 0, "ArrowLeft")).toBe(0);
  expect(toward(places, 0, "a")).toBeNull();
  expect(toward(places, 4, "ArrowUp")).toBeNull();
});
