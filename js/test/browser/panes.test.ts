import { afterEach, expect, test } from "vitest";
import type { ScorePayload } from "../../src/state/store";
import { longText, synthetic } from "../../test-support/attention";
import { eventually, type Shown, show } from "../../test-support/show";

const opened: Shown[] = [];
let row: HTMLElement | undefined;

afterEach(() => {
  for (const shown of opened.splice(0)) shown.dispose();
  row?.remove();
  row = undefined;
});

/** As many scores as the card of a head lists. */
const scores = Array.from(
  { length: 10 },
  (_, i): ScorePayload => ({
    name: `score ${i}`,
    unit: "nats",
    description: "Counted by hand",
    notable: "high",
    values: Array.from({ length: 6 }, () => Array.from({ length: 12 }, (_, head) => head)),
    low: null,
    high: null,
    baseline: null,
    support: null,
    categories: [],
  }),
);

async function explorer(width: number): Promise<Shown> {
  const attention = synthetic(longText(20), 6, 12);
  const view = show(["grid", "head", "token"], { attention, width, scores });
  opened.push(view);
  await eventually(() => {
    expect(view.find("[role=grid]").dataset.painted).toBe("maps");
    expect(view.all(".bl-card-score")).toHaveLength(10);
  });
  return view;
}

const boxOf = (view: Shown, selector: string) => view.find(selector).getBoundingClientRect();

test.each([560, 760, 833, 900, 993, 1153, 1600])(
  "at a frame of %i px the grid, the lines and the card are on screen together",
  async (width) => {
    const view = await explorer(width);
    const [frame, grid, card, lines] = [".bl-frame", ".bl-grid", ".bl-card", ".bl-scroll"].map(
      (selector) => boxOf(view, selector),
    ) as [DOMRect, DOMRect, DOMRect, DOMRect];
    expect(frame.width).toBe(width);
    expect(Math.max(card.bottom, lines.bottom) - frame.top).toBeLessThanOrEqual(720);
    expect(lines.left).toBeGreaterThan(grid.right);
    expect(card.right).toBeLessThan(lines.left);
    expect(card.top).toBeGreaterThan(grid.bottom);
    const token = boxOf(view, ".bl-pane-token");
    if (width > 902) expect(token.left).toBeGreaterThanOrEqual(lines.right);
    else expect(token.top).toBeGreaterThanOrEqual(Math.max(card.bottom, lines.bottom));
    for (const pane of view.all(".bl-pane")) {
      expect(pane.scrollWidth).toBeLessThanOrEqual(pane.clientWidth);
    }
  },
);

test("a narrow frame shows the lines right under the grid and the card last", async () => {
  const view = await explorer(480);
  const [readout, head] = [
    boxOf(view, ".bl-pane-grid > .bl-readout"),
    boxOf(view, ".bl-pane-head"),
  ];
  expect(head.top - readout.bottom).toBeLessThan(16);
  const card = boxOf(view, ".bl-card");
  expect(card.top).toBeGreaterThan(boxOf(view, ".bl-pane-token").bottom - 1);
  expect(card.left - boxOf(view, ".bl-frame").left).toBeGreaterThan(10);
});

test("at 1,600 px no column is left empty for long", async () => {
  const view = await explorer(1600);
  const bottom = boxOf(view, ".bl-panes").bottom;
  for (const selector of [".bl-card", ".bl-pane-head .bl-foot", ".bl-matrix"]) {
    expect(bottom - boxOf(view, selector).bottom).toBeLessThan(160);
  }
});

/** Views in a row, as an HBox puts them. */
async function inRow(count: number, more: HTMLElement[] = [], hidden = false): Promise<number[]> {
  row = document.createElement("div");
  row.style.cssText = `display: ${hidden ? "none" : "flex"}; width: 1000px`;
  document.body.append(row);
  for (let i = 0; i < count; i++) {
    const view = show(["head"]);
    opened.push(view);
    view.el.style.width = "";
    row.append(view.el);
  }
  row.append(...more);
  if (hidden) row.style.display = "flex";
  await eventually(() => {
    for (const view of opened)
      expect(view.find<HTMLCanvasElement>(".bl-canvas-base").height).toBeGreaterThan(0);
  });
  return opened.map((view) => Math.round(boxOf(view, ".bl-frame").width));
}

test("one view takes the row that it stands in, also where the row was hidden first", async () => {
  expect(await inRow(1)).toEqual([1000]);
  opened.pop()?.dispose();
  row?.remove();
  expect(await inRow(1, [], true)).toEqual([1000]);
});

test("two views share a row", async () => {
  expect(await inRow(2)).toEqual([500, 500]);
});

test("beside a button a view takes what is left", async () => {
  const button = document.createElement("button");
  button.style.cssText = "width: 148px";
  expect(await inRow(1, [button])).toEqual([852]);
  expect(button.offsetWidth).toBe(148);
});
