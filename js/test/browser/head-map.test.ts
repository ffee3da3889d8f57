import { afterEach, expect, test } from "vitest";
import type { MappedHeads, ScorePayload } from "../../src/state/store";
import { storePair, synthetic } from "../../test-support/attention";
import {
  eventually,
  expectAccessible,
  point,
  press,
  type Shown,
  show,
} from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
  document.body.style.background = "";
});

/** 3 layers of 4 heads in rows: layer 0 at the bottom, head 0 at the left. */
const map: MappedHeads = {
  points: [0, 1, 2].map((layer) => [0, 1, 2, 3].map((head) => [head / 3, layer / 2])),
  labels: [
    [0, 0, 0, 4],
    [2, 0, 0, 0],
    [0, 0, 1, 0],
  ],
  categories: ["", "broad", "next", "previous", "cls", "sep", "punctuation"],
  texts: 7,
};

const score: ScorePayload = {
  name: "self",
  unit: "share of attention",
  description: "Attention of each token to itself.",
  notable: "high",
  values: [
    [0, 0.2, 0.4, 0.6],
    [0.1, null, 0.1, 0.1],
    [1, 0, 0, 0],
  ],
  low: null,
  high: null,
  baseline: 0.25,
  support: null,
  categories: [],
};

function pane(traits: Record<string, unknown> = {}, options: Parameters<typeof show>[1] = {}) {
  shown = show(["map"], { traits: { mapped_heads: map, ...traits }, width: 600, ...options });
  return shown;
}

const points = (view: Shown) => view.all(".bl-point");
const chosen = (view: Shown) =>
  points(view).flatMap((one) =>
    one.getAttribute("aria-selected") === "true" ? [one.dataset.name] : [],
  );

test("every head is a point where the map puts it, up from the bottom", () => {
  const view = pane();
  const plot = view.find(".bl-map").getBoundingClientRect();
  expect(points(view)).toHaveLength(12);
  const [first, last] = [points(view)[0]!, points(view)[11]!].map((p) => p.getBoundingClientRect());
  expect(first!.left + 5.5).toBeCloseTo(plot.left, 0);
  expect(first!.top + 5.5).toBeCloseTo(plot.bottom, 0);
  expect(last!.left + 5.5).toBeCloseTo(plot.right, 0);
  expect(last!.top + 5.5).toBeCloseTo(plot.top, 0);
});

test("a click chooses the head, shift-click adds one of its layer, and Python hears of it", async () => {
  const view = pane();
  points(view)[6]!.click();
  expect([view.store.traits.layer.value, view.store.traits.heads.value]).toEqual([1, [2]]);
  expect(chosen(view)).toEqual(["1-2"]);
  points(view)[4]!.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  expect(chosen(view)).toEqual(["1-0", "1-2"]);
  await eventually(() => expect(view.model.saved).toMatchObject({ layer: 1, heads: [2, 0] }));
  points(view)[4]!.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  expect(chosen(view)).toEqual(["1-2"]);
  // A head of another layer cannot be shown beside them.
  points(view)[0]!.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  expect(chosen(view)).toEqual(["0-0"]);
});

test("what Python selects is marked", () => {
  const view = pane();
  view.model.fromKernel({ layer: 2, heads: [1, 3] });
  expect(chosen(view)).toEqual(["2-1", "2-3"]);
});

test("arrows lead from point to point and Enter chooses", () => {
  const view = pane({ layer: 1, heads: [1] });
  const start = view.find(".bl-point[tabindex='0']");
  expect(start.dataset.name).toBe("1-1");
  start.focus();
  press(start, "ArrowUp");
  expect(document.activeElement).toBe(points(view)[9]);
  press(points(view)[9]!, "ArrowRight");
  expect(document.activeElement).toBe(points(view)[10]);
  press(points(view)[10]!, "Enter");
  expect(chosen(view)).toEqual(["2-2"]);
});

test("colours stand for behaviours, with their names and counts, or for layers", () => {
  const view = pane();
  const names = view.all(".bl-kinds li").map((item) => item.textContent!.trim());
  expect(names).toEqual(["none of these 9", "broad 1", "next 1", "[CLS] 1"]);
  const colour = (index: number) => getComputedStyle(points(view)[index]!).backgroundColor;
  const dots = view.all(".bl-kinds .bl-dot").map((dot) => getComputedStyle(dot).backgroundColor);
  expect([colour(10), colour(4), colour(3)]).toEqual(dots.slice(1));
  const menu = view.all("select").find((select) => select.checkVisibility())! as HTMLSelectElement;
  menu.value = "layer";
  menu.dispatchEvent(new Event("change"));
  expect(colour(0)).toBe(colour(3));
  expect(new Set([colour(0), colour(4), colour(8)]).size).toBe(3);
  expect(view.all(".bl-kinds li")).toEqual([]);
});

test("the nearest heads of the chosen one are named, and a press goes there", async () => {
  const asked: number[][] = [];
  const view = pane(
    { layer: 1, heads: [3] },
    {
      nearest: (layer, head) => {
        asked.push([layer, head]);
        return [
          [0, 2, 1.5],
          [2, 1, 20.25],
        ];
      },
    },
  );
  await eventually(() => expect(view.all(".bl-best button")).toHaveLength(2));
  expect(asked).toEqual([[1, 3]]);
  expect(view.find(".bl-best").textContent).toBe("nearest to 1-3 0-2 1.5002-1 20.25");
  view.all(".bl-best button")[1]!.click();
  expect(chosen(view)).toEqual(["2-1"]);
  await eventually(() => expect(asked.at(-1)).toEqual([2, 1]));
});

test("by layer the points stand at the score's values, with the layer's mean and even attention", () => {
  const view = pane({ score });
  view.button("by layer").click();
  const plot = view.find(".bl-map").getBoundingClientRect();
  const spot = (index: number) => {
    const { left, top } = points(view)[index]!.getBoundingClientRect();
    return [(left + 5.5 - plot.left) / plot.width, 1 - (top + 5.5 - plot.top) / plot.height];
  };
  expect(spot(8)[0]).toBeCloseTo(2.5 / 3, 2);
  expect(spot(8)[1]).toBeCloseTo(1, 1);
  expect(spot(2)[1]).toBeCloseTo(0.4, 1);
  expect(points(view)[5]!.hidden).toBe(true);
  const mean = view.el.querySelector(".bl-map-mean")!.getAttribute("d")!;
  const ups = [...mean.matchAll(/ ([\d.]+)/g)].map(([, y]) => 1 - Number(y));
  expect(ups[0]).toBeCloseTo(0.3, 6);
  expect(ups[1]).toBeCloseTo(0.1, 6);
  expect(ups[2]).toBeCloseTo(0.25, 6);
  expect(view.el.querySelector(".bl-map-even")!.getAttribute("d")).toBe("M0 0.75H1");
  expect(view.all(".bl-map-across").map((label) => label.textContent)).toEqual(["0", "1", "2"]);
  point(points(view)[8]!);
  expect(view.find(".bl-readout").textContent).toContain("Head 2-0 · self 1.000 (1 of 11)");
});

test("without a map the values of a score are shown, and a sentence says what is missing", async () => {
  const view = pane({ mapped_heads: null });
  expect(view.find(".bl-empty").textContent).toMatch(/^Choose a score/);
  expect(view.find(".bl-map").hidden).toBe(true);
  const menu = view.all("select").find((select) => select.checkVisibility())! as HTMLSelectElement;
  await eventually(() => expect(menu.options).toHaveLength(2));
  menu.value = "entropy";
  menu.dispatchEvent(new Event("change"));
  await eventually(() => expect(view.model.saved).toMatchObject({ score: { name: "entropy" } }));
  expect(view.find(".bl-empty").hidden).toBe(true);
  expect(view.find(".bl-map").hidden).toBe(false);
  view.button("alike").click();
  expect(view.find(".bl-empty").textContent).toMatch(/^No map of heads yet/);
  view.model.fromKernel({ mapped_heads: map });
  expect(view.find(".bl-map").hidden).toBe(false);
});

test("another model has other points", () => {
  const view = pane();
  const attention = synthetic(storePair(), 2, 3);
  const meta = { ...view.store.traits.meta.value, n_layers: 2, n_heads: 3 };
  view.model.attention = attention;
  view.model.fromKernel({ mapped_heads: null, meta, layer: 0, heads: [0] });
  expect(points(view)).toHaveLength(6);
});

for (const background of ["#ffffff", "#16191d"]) {
  test(`axe finds nothing on ${background}`, async () => {
    document.body.style.background = background;
    const view = pane({ score }, { nearest: () => [[0, 2, 1.5]] });
    await eventually(() => expect(view.all(".bl-best button")).toHaveLength(1));
    await expectAccessible(view.find(".bl-pane-map"));
    view.button("by layer").click();
    await expectAccessible(view.find(".bl-pane-map"));
  });
}
