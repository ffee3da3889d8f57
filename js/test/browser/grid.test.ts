import { afterEach, expect, test, vi } from "vitest";
import type { ScorePayload } from "../../src/state/store";
import { longText, synthetic } from "../../test-support/attention";
import {
  eventually,
  expectAccessible,
  pixel,
  point,
  press,
  type Shown,
  show,
} from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

function grid(options: Parameters<typeof show>[1] = {}): Shown {
  shown = show(["grid"], options);
  return shown;
}

function cell(view: Shown, layer: number, head: number): HTMLElement {
  return view.find(`[role=gridcell][aria-label="layer ${layer}, head ${head}"]`);
}

const score: ScorePayload = {
  name: "steps",
  title: "Steps taken",
  unit: "steps",
  description: "Counted by hand",
  notable: "high",
  values: [
    [0, 1, 2, 3],
    [4, null, 6, 7],
    [8, 9, 10, 11],
  ],
  low: null,
  high: null,
  baseline: 2,
  support: null,
  categories: [],
};

async function painted(view: Shown, what: string): Promise<HTMLCanvasElement> {
  await eventually(() => expect(view.find("[role=grid]").dataset.painted).toBe(what));
  return view.find<HTMLCanvasElement>(".bl-grid-canvas");
}

/** The colour in the middle of a cell. */
function colour(view: Shown, layer: number, head: number): number[] {
  const canvas = view.find<HTMLCanvasElement>(".bl-grid-canvas");
  const [frame, box] = [canvas, cell(view, layer, head)].map((el) =>
    el.getBoundingClientRect(),
  ) as [DOMRect, DOMRect];
  const x = (box.left + box.width / 2 - frame.left) / frame.width;
  return pixel(canvas, x, (box.top + box.height / 2 - frame.top) / frame.height);
}

const sum = (rgb: number[]) => rgb.reduce((a, b) => a + b, 0);

test("every head is a picture of its map", async () => {
  const view = grid();
  const canvas = await painted(view, "maps");
  // head 0 attends to the next token: its diagonal is dark, its corner light
  const [frame, box] = [canvas, cell(view, 0, 0)].map((el) => el.getBoundingClientRect()) as [
    DOMRect,
    DOMRect,
  ];
  const at = (column: number, row: number) =>
    sum(
      pixel(
        canvas,
        (box.left + (box.width * (column + 0.5)) / 19 - frame.left) / frame.width,
        (box.top + (box.height * (row + 0.5)) / 19 - frame.top) / frame.height,
      ),
    );
  expect(at(10, 9)).toBeLessThan(350);
  expect(at(3, 15)).toBeGreaterThan(650);
});

test("a click selects layer and head, a shift-click adds one", async () => {
  const view = grid();
  cell(view, 2, 1).click();
  cell(view, 2, 3).dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  await eventually(() => expect(view.model.saved).toMatchObject({ layer: 2, heads: [1, 3] }));
  expect(cell(view, 2, 1).getAttribute("aria-selected")).toBe("true");
  expect(cell(view, 2, 3).hasAttribute("data-current")).toBe(true);
});

test("a shift-click on a head that is on switches it off", () => {
  const view = grid({ traits: { layer: 1, heads: [0, 2] } });
  cell(view, 1, 2).dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  expect(view.store.traits.heads.value).toEqual([0]);
});

test("a shift-click on a head of another layer goes there and keeps the numbers that are on", () => {
  const view = grid({ traits: { layer: 1, heads: [0, 2] } });
  cell(view, 2, 3).dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  expect(view.store.traits.layer.value).toBe(2);
  expect(view.store.traits.heads.value).toEqual([0, 2, 3]);
});

test("one tab stop; arrows move it, Enter selects, Shift+Enter adds", () => {
  const view = grid();
  const stops = () => view.all("[role=gridcell][tabindex='0']");
  expect(stops()).toEqual([cell(view, 0, 0)]);
  stops()[0]!.focus();
  press(document.activeElement!, "ArrowDown");
  press(document.activeElement!, "ArrowRight");
  expect(document.activeElement).toBe(cell(view, 1, 1));
  expect(stops()).toEqual([cell(view, 1, 1)]);
  press(document.activeElement!, "Enter");
  expect(view.store.traits.layer.value).toBe(1);
  press(document.activeElement!, "End");
  press(document.activeElement!, "Enter", { shiftKey: true });
  expect(view.store.traits.heads.value).toEqual([1, 3]);
  press(document.activeElement!, "ArrowRight");
  expect(document.activeElement).toBe(cell(view, 1, 3));
});

test("a score colours the cells, higher is darker, undefined is striped", async () => {
  const view = grid({ traits: { score } });
  const canvas = await painted(view, "steps");
  expect(sum(colour(view, 0, 0))).toBeGreaterThan(sum(colour(view, 0, 3)));
  expect(sum(colour(view, 0, 3))).toBeGreaterThan(sum(colour(view, 2, 3)));
  const [frame, box] = [canvas, cell(view, 1, 1)].map((el) => el.getBoundingClientRect()) as [
    DOMRect,
    DOMRect,
  ];
  const across = Array.from({ length: 16 }, (_, i) =>
    sum(
      pixel(
        canvas,
        (box.left + 4 + i - frame.left) / frame.width,
        (box.top + box.height / 2 - frame.top) / frame.height,
      ),
    ),
  );
  expect(new Set(across).size).toBe(2);
});

test("the colour bar says numbers, unit and baseline", async () => {
  const view = grid({ traits: { score } });
  await painted(view, "steps");
  expect(view.all(".bl-tick").map((tick) => tick.textContent)).toEqual(["0", "5", "10", "15"]);
  expect(view.find(".bl-bar-unit").textContent).toBe("steps");
  expect(view.find(".bl-ramp-mark").title).toBe("baseline 2");
});

test("a cell says its value and rank when pointed at", () => {
  const view = grid({ traits: { score } });
  point(cell(view, 2, 2));
  expect(view.find(".bl-readout").textContent).toBe("Head 2-2 · Steps taken 10.00 steps (2 of 11)");
  point(cell(view, 1, 1));
  expect(view.find(".bl-readout").textContent).toBe("Head 1-1 · Steps taken undefined");
  expect(view.find(".bl-readout").getAttribute("aria-live")).toBe("polite");
});

test("the menu lists what the kernel knows and sends the whole score back", async () => {
  const view = grid({ scores: [score] });
  const menu = view.find<HTMLSelectElement>("select");
  await eventually(() =>
    expect([...menu.options].map((o) => o.text)).toEqual(["attention maps", "Steps taken"]),
  );
  menu.value = "steps";
  menu.dispatchEvent(new Event("change"));
  await eventually(() => expect(view.model.saved.score).toEqual(score));
  await painted(view, "steps");
});

test("a score added in Python joins the menu", async () => {
  const scores = [score];
  const view = grid({ scores });
  const menu = view.find<HTMLSelectElement>("select");
  await eventually(() => expect(menu.options).toHaveLength(2));
  scores.push({ ...score, name: "dobj", title: "dobj" });
  view.model.fromKernel({ added_scores: ["dobj"] });
  await eventually(() => expect(menu.options[2]?.text).toBe("dobj"));
});

test("the card shows the selected head's scores, and a click on one colours the grid", async () => {
  const view = grid({ scores: [score], traits: { layer: 2, heads: [0, 1] } });
  await eventually(() =>
    expect(view.find("tbody tr").textContent).toBe("Steps taken9.000steps3 of 11"),
  );
  const button = view.button("Steps taken");
  expect(button.title).toBe("Counted by hand\nbaseline 2.000");
  button.focus();
  button.click();
  await eventually(() => expect(view.model.saved.score).toEqual(score));
  expect(button.getAttribute("aria-pressed")).toBe("true");
  expect(view.find(".bl-card-detail").textContent).toBe("baseline 2.000");
  expect(document.activeElement).toBe(button);
  view.button("show maps").click();
  await eventually(() => expect(view.model.saved.score).toBe(null));
  await painted(view, "maps");
});

/** Scores by which head 0-1 comes in at the place that each is named by. */
function ranked(...places: number[]): ScorePayload[] {
  return places.map((place) => {
    const others = Array.from({ length: 11 }, (_, i) => (i < place - 1 ? 2 : 0));
    const flat = [others[0]!, 1, ...others.slice(1)];
    const values = [0, 4, 8].map((at) => flat.slice(at, at + 4));
    const name = `place_${place}`;
    return { ...score, name, title: "", unit: "share of attention", baseline: null, values };
  });
}

test("scores by which the head stands out come first, the others a click away", async () => {
  const scores = ranked(9, 2, 7, 12, 1, 3, 4, 5, 6, 8, 10, 11);
  const view = grid({ scores, width: 320, traits: { heads: [1] } });
  const names = () => view.all(".bl-card-score").map((button) => button.textContent);
  const first = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((place) => `place ${place}`);
  await eventually(() => expect(names()).toEqual(first));
  view.button("all 12 scores").click();
  expect(names()).toEqual([...first, "place 11", "place 12"]);
  view.button("place 12").click();
  view.button("fewer").click();
  expect(names()).toEqual([...first, "place 12"]);
});

test("twenty scores stay on one line each, in less than a screen", async () => {
  const long = { ...score, name: "a_score_with_a_name_that_is_longer_than_the_pane_is_wide" };
  const scores = [...ranked(...Array.from({ length: 19 }, (_, i) => (i % 11) + 1))];
  const distinct = scores.map((one, i) => ({ ...one, name: `relation_to_a_head_${i}` }));
  const view = grid({ scores: [{ ...long, title: "" }, ...distinct], width: 320 });
  await eventually(() => view.button("all 20 scores").click());
  const rows = view.all(".bl-card-scores tr");
  expect(rows).toHaveLength(20);
  for (const row of rows) expect(row.clientHeight).toBeLessThan(26);
  expect(view.el.scrollWidth).toBeLessThanOrEqual(320);
  expect(view.find(".bl-card").clientHeight).toBeLessThan(600);
});

test("interval, support above one and a long unit are told of the chosen score", async () => {
  const all = (value: number) => score.values.map((row) => row.map(() => value));
  const full = { ...score, unit: "share of attention", low: all(0.25), high: all(0.5) };
  const view = grid({ traits: { score: { ...full, support: all(341) } } });
  await eventually(() =>
    expect(view.find(".bl-card-detail").textContent).toBe(
      "share of attention · 95% interval 0.250 to 0.500 · n = 341 · baseline 2.000",
    ),
  );
});

const behaviour: ScorePayload = {
  ...score,
  name: "behaviour",
  title: "",
  unit: "",
  baseline: null,
  support: [0, 1, 2].map(() => [1, 1, 1, 1]),
  values: [
    [0, 1, 2, 3],
    [1, null, 1, 0],
    [2, 2, 2, 0],
  ],
  categories: ["", "broad", "next", "cls"],
};

test("names colour the grid in colours of their own, with a legend", async () => {
  const view = grid({ scores: [behaviour], traits: { score: behaviour, heads: [2] } });
  await painted(view, "behaviour");
  expect(view.all(".bl-kinds li").map((one) => one.textContent)).toEqual([
    "none 3",
    "broad 3",
    "next 4",
    "cls 1",
  ]);
  const dots = view.all(".bl-dot").map((dot) => getComputedStyle(dot).backgroundColor);
  const shades = [1, 2, 3].map((head) => `rgb(${colour(view, 0, head).join(", ")})`);
  expect(shades).toEqual(dots.slice(1));
  expect(new Set([...shades, String(colour(view, 0, 0))]).size).toBe(4);
  expect(view.all(".bl-bar")).toEqual([]);
});

test("a name is said instead of its number, and has no rank", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const view = grid({ scores: [behaviour], traits: { score: behaviour, heads: [2] } });
  await eventually(() => expect(view.find("tbody tr").textContent).toBe("behaviournext"));
  const readout = () => view.find(".bl-readout").textContent;
  point(cell(view, 0, 3));
  expect(readout()).toBe("Head 0-3 · behaviour cls");
  point(cell(view, 0, 0));
  expect(readout()).toBe("Head 0-0 · behaviour none");
  point(cell(view, 1, 1));
  expect(readout()).toBe("Head 1-1 · behaviour undefined");
  view.find("[aria-label='Copy the numbers of the grid']").click();
  view.find("[aria-label='Copy the scores of this head']").click();
  await eventually(() => expect(write).toHaveBeenCalledTimes(2));
  const [table, card] = write.mock.calls.map(([text]) => text.split("\n"));
  expect(table?.slice(1, 3)).toEqual(["0\tnone\tbroad\tnext\tcls", "1\tbroad\t\tbroad\tnone"]);
  expect(card?.[1]).toBe("behaviour\tnext\t\t");
  write.mockRestore();
});

test("a name with underscores is read as words", async () => {
  const view = grid({ traits: { score: { ...score, name: "word_mates", title: "" } } });
  await painted(view, "word_mates");
  expect(view.find("select option:checked").textContent).toBe("word mates");
  expect(view.find("select").title).toBe("Counted by hand");
});

test("the numbers of the grid are copied as a table", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const view = grid({ traits: { score } });
  view.find("[aria-label='Copy the numbers of the grid']").click();
  await eventually(() => expect(write).toHaveBeenCalled());
  expect(write.mock.calls[0]![0].split("\n").slice(0, 3)).toEqual([
    "Steps taken\t0\t1\t2\t3",
    "0\t0\t1\t2\t3",
    "1\t4\t\t6\t7",
  ]);
  write.mockRestore();
});

test("a text token or name is never markup", async () => {
  const view = grid({ traits: { score: { ...score, title: "<u>line</u>" } } });
  await painted(view, "steps");
  expect(view.all(".bl-pane u")).toEqual([]);
  expect(view.find("select option:checked").textContent).toBe("<u>line</u>");
});

test("a model of 32 layers and 32 heads fits, all numbers readable", async () => {
  const attention = synthetic(longText(6), 32, 32);
  const view = grid({ attention, width: 320 });
  await painted(view, "maps");
  expect(view.all("[role=gridcell]")).toHaveLength(1024);
  expect(view.el.scrollWidth).toBeLessThanOrEqual(320);
  const labels = view
    .all("[role=columnheader] > span")
    .filter((el) => getComputedStyle(el).visibility !== "hidden");
  expect(labels.length).toBeGreaterThan(3);
  expect(labels.length).toBeLessThan(17);
});

test("without a text the grid says so in one sentence", () => {
  const attention = { ...synthetic(longText(2), 0, 0) };
  const view = grid({ attention });
  expect(view.find(".bl-pane > .bl-empty").hidden).toBe(false);
  expect(view.find("[role=grid]").checkVisibility()).toBe(false);
});

test("without a kernel the saved score still colours the grid", async () => {
  const view = grid({ dead: true, traits: { score } });
  await painted(view, "steps");
  expect(view.find("tbody").textContent).toContain("Steps taken0.000");
});

for (const background of ["#ffffff", "#16191d"]) {
  test(`axe finds nothing on ${background}`, async () => {
    document.body.style.background = background;
    const view = grid({ scores: [score], traits: { score } });
    await painted(view, "steps");
    await expectAccessible(view.find(".bl-pane"));
    document.body.style.background = "";
  });
}

test("a view that goes leaves nothing on the page", async () => {
  const view = grid();
  await painted(view, "maps");
  view.dispose();
  expect(view.el.childElementCount).toBe(0);
  shown = undefined;
});
