import { afterEach, expect, test } from "vitest";
import { longText, synthetic } from "../../test-support/attention";
import { eventually, pixel, point, press, type Shown, show } from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

async function matrix(options: Parameters<typeof show>[1] = {}): Promise<Shown> {
  const view = show(["token"], options);
  shown = view;
  await eventually(() => expect(plot(view).dataset.painted).toBeDefined());
  return view;
}

const plot = (view: Shown) => view.find(".bl-matrix-plot");
const canvas = (view: Shown) => view.find<HTMLCanvasElement>(".bl-matrix-canvas");
const readout = (view: Shown) => view.find(".bl-matrix .bl-readout").textContent;
const sum = (rgb: number[]) => rgb.reduce((a, b) => a + b, 0);

/** The middle of a cell of the 19 x 19 map, in pixels of the plot. */
function middle(view: Shown, from: number, to: number) {
  const { width, height } = plot(view).getBoundingClientRect();
  return { x: ((to + 0.5) / 19) * width, y: ((from + 0.5) / 19) * height };
}

test("the map of the selected head is drawn cell by cell", async () => {
  const view = await matrix();
  const at = (from: number, to: number) =>
    sum(pixel(canvas(view), (to + 0.5) / 19, (from + 0.5) / 19));
  expect(at(5, 6)).toBeLessThan(350);
  expect(at(5, 7)).toBeGreaterThan(650);
  expect(at(6, 5)).toBeGreaterThan(650);
});

test("the last head switched on is the one drawn", async () => {
  const view = await matrix({ traits: { heads: [0, 1] } });
  expect(plot(view).dataset.painted).toBe("0-1");
  expect(view.find(".bl-matrix h3").textContent).toBe("Head 0-1");
});

test("a diagonal among 512 tokens is unbroken", async () => {
  const view = await matrix({ attention: synthetic(longText(512), 1, 1), width: 320 });
  const { width } = canvas(view);
  for (let i = 0; i < 50; i++) {
    const share = (i + 0.5) / 50;
    expect(sum(pixel(canvas(view), Math.min(share + 0.5 / width, 0.999), share))).toBeLessThan(450);
  }
});

test("pointing at a cell says both tokens and the weight, then its exact value", async () => {
  const view = await matrix();
  point(plot(view), middle(view, 13, 14));
  expect(readout(view)).toBe("bought → fresh  ≈0.97");
  await eventually(() =>
    expect(readout(view)).toBe(`bought → fresh  ${(1.002 / 1.038).toFixed(3)}`),
  );
});

test("a crosshair follows the pointer, and the token that other views look at", async () => {
  const view = await matrix();
  const [row, column] = [view.find(".bl-band-row"), view.find(".bl-band-column")];
  point(plot(view), middle(view, 13, 14));
  expect(row.style.top).toBe("68.4211%");
  expect(column.style.left).toBe("73.6842%");
  expect(view.store.page.hover.value).toEqual({ side: "from", index: 13 });
  plot(view).dispatchEvent(new PointerEvent("pointerleave"));
  view.store.page.hover.value = { side: "to", index: 3 };
  expect(row.hidden).toBe(true);
  expect(column.style.left).toBe("15.7895%");
});

test("a click pins the token of its row, or of its column on the other side", async () => {
  const view = await matrix();
  const click = (from: number, to: number) => {
    const box = plot(view).getBoundingClientRect();
    const { x, y } = middle(view, from, to);
    plot(view).dispatchEvent(
      new MouseEvent("click", { bubbles: true, clientX: box.left + x, clientY: box.top + y }),
    );
  };
  click(4, 9);
  await eventually(() => expect(view.model.saved.token).toBe(4));
  view.store.traits.side.value = "to";
  click(4, 9);
  await eventually(() => expect(view.model.saved.token).toBe(9));
});

test("arrows move a cell whose value is announced, Enter pins, Escape lets go", async () => {
  const view = await matrix();
  press(plot(view), "ArrowDown");
  press(plot(view), "ArrowRight");
  press(plot(view), "ArrowRight");
  expect(readout(view)).toBe("I → went  ≈0.97");
  expect(view.find(".bl-matrix .bl-readout").getAttribute("aria-live")).toBe("polite");
  press(plot(view), "End");
  expect(view.store.page.cell.value).toEqual({ from: 1, to: 18 });
  press(plot(view), "Enter");
  expect(view.store.traits.token.value).toBe(1);
  press(plot(view), "Escape");
  expect(view.store.traits.token.value).toBe(null);
});

test("hidden special tokens are blank", async () => {
  const view = await matrix({ traits: { heads: [2], special: "hide" } });
  expect(sum(pixel(canvas(view), 0.5 / 19, 5.5 / 19))).toBeGreaterThan(700);
  point(plot(view), middle(view, 5, 0));
  expect(readout(view)).toBe("store → [CLS]  hidden");
});

test("the plot is drawn again in the pixels that it has when its size changes", async () => {
  const view = await matrix({ width: 480 });
  const before = canvas(view).width;
  view.el.style.width = "330px";
  await eventually(() => expect(canvas(view).width).toBeLessThan(before));
  const { width } = canvas(view).getBoundingClientRect();
  expect(canvas(view).width).toBe(Math.round(width * devicePixelRatio));
});

test("a dark ground takes dark colours", async () => {
  document.body.style.background = "#16191d";
  const view = await matrix();
  expect(sum(pixel(canvas(view), 7.5 / 19, 5.5 / 19))).toBeLessThan(200);
  expect(sum(pixel(canvas(view), 6.5 / 19, 5.5 / 19))).toBeGreaterThan(600);
  document.body.style.background = "";
});

test("without a head on, one sentence says what to do", () => {
  const view = show(["token"], { traits: { heads: [] } });
  shown = view;
  expect(view.find(".bl-matrix .bl-empty").textContent).toBe(
    "Switch a head on to see its whole matrix.",
  );
  expect(plot(view).checkVisibility()).toBe(false);
});
