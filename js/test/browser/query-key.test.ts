import { afterEach, expect, test, vi } from "vitest";
import { longText, storePair, synthetic } from "../../test-support/attention";
import { DIM, keyOf, queryOf } from "../../test-support/inside";
import { shadeOf } from "../../test-support/shade";
import {
  eventually,
  expectAccessible,
  pixel,
  point,
  type Shown,
  show,
} from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

function panes(views: string[], options: Parameters<typeof show>[1] = {}): Shown {
  shown = show(views, { width: 900, ...options });
  return shown;
}

const alone = (options: Parameters<typeof show>[1] = {}) => panes(["query-key"], options);

const pane = (view: Shown) => view.find(".bl-pane-query-key");
const asked = (view: Shown) => view.model.asked("inside");
const lines = (view: Shown) =>
  view
    .all(".bl-inside tbody tr")
    .map((row) => [...row.children].map((cell) => cell.textContent).filter((text) => text !== ""));
const sentence = (view: Shown) => view.find(".bl-pane-query-key .bl-empty").textContent;

async function painted(view: Shown, what: string) {
  await eventually(() => expect(pane(view).dataset.painted).toBe(what));
}

const dotOf = (query: number, key: number) =>
  queryOf(query).reduce((sum, x, d) => sum + x * keyOf(key)[d]!, 0);
const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

test("the pinned token's query meets every key: dot product, score and weight", async () => {
  const view = alone({ traits: { token: 13, layer: 1, heads: [2, 0] } });
  await painted(view, "from 13");
  expect(asked(view)).toMatchObject([{ layer: 1, head: 0, index: 13, side: "from" }]);
  const [own, first, second] = lines(view);
  expect(own).toEqual(["query of “bought”"]);
  // Layer 1, head 0: 1.004 on the next token and 0.004 on each of the 18 others.
  const next = (1.004 / (1.004 + 18 * 0.004)).toFixed(3);
  expect(first).toEqual(["fresh", signed(dotOf(13, 14)), signed(dotOf(13, 14) / 2), next]);
  expect(second![0]).toBe("[CLS]");
  expect(view.find(".bl-note").textContent).toContain("score = q·k × 0.5");
});

test("where the token is attended to its key meets the queries", async () => {
  const view = alone({ traits: { token: 13, side: "to" } });
  await painted(view, "to 13");
  expect(lines(view)[0]).toEqual(["key of “bought”"]);
  expect(lines(view)[1]!.slice(0, 2)).toEqual(["I", signed(dotOf(12, 13))]);
});

test("a hidden token says so", async () => {
  const view = alone({ causal: true, traits: { token: 3 } });
  await painted(view, "from 3");
  view.button("more").click();
  const berries = lines(view).find(([label]) => label === "berries")!;
  expect(berries.slice(1, 4)).toEqual([signed(dotOf(3, 16)), "−∞", "hidden"]);
  expect(view.find(".bl-note").textContent).toContain("× 0.5 + mask");
});

test("strips show signs by hue: blue above zero, orange below", async () => {
  const view = alone({ traits: { token: 13 } });
  await painted(view, "from 13");
  const canvas = view.find<HTMLCanvasElement>(".bl-inside tbody tr:first-child canvas");
  const colours = queryOf(13).map((_, d) => pixel(canvas, (d + 0.5) / DIM, 0.5));
  for (const [d, value] of queryOf(13).entries()) {
    const [red = 0, , blue = 0] = colours[d]!;
    if (value > 0) expect(blue).toBeGreaterThan(red);
    if (value < 0) expect(red).toBeGreaterThan(blue);
  }
});

test("dimensions are sorted by what they add for the token with most weight, or the one chosen", async () => {
  const view = alone({ traits: { token: 13 } });
  await painted(view, "from 13");
  view.button("by contribution").click();
  const mean = (d: number) =>
    Array.from({ length: 19 }, (_, token) => keyOf(token)[d]!).reduce((a, b) => a + b) / 19;
  const adds = (token: number) => queryOf(13).map((x, d) => x * (keyOf(token)[d]! - mean(d)) * 0.5);
  const best = (token: number) => {
    const all = adds(token);
    return all.indexOf(Math.max(...all));
  };
  const first = () => view.find<HTMLSelectElement>(".bl-pane select").options[1]!.value;
  await eventually(() => expect(first()).toBe(String(best(14))));
  expect(view.button("fresh").getAttribute("aria-pressed")).toBe("true");
  view.button("[CLS]").click();
  await eventually(() => expect(first()).toBe(String(best(0))));
});

test("a click on a dimension follows it over all tokens", async () => {
  const view = alone({ traits: { token: 13 } });
  await painted(view, "from 13");
  const strip = view.all(".bl-strip canvas")[2]!;
  const { left, top, width } = strip.getBoundingClientRect();
  const at = { bubbles: true, clientX: left + ((3 + 0.5) / DIM) * width, clientY: top + 4 };
  strip.dispatchEvent(new MouseEvent("click", at));
  const product = (token: number) => queryOf(13)[3]! * keyOf(token)[3]!;
  await eventually(() => expect(lines(view)[1]![1]).toBe(signed(product(14))));
  const pieces = view.all(".bl-piece");
  expect(pieces).toHaveLength(19);
  let shaded = 0;
  for (const [token, piece] of pieces.entries()) {
    const [red, , blue, alpha] = shadeOf(piece);
    if (alpha < 0.03) continue; // too faint for its colour to survive in 8 bits
    shaded += 1;
    if (product(token) > 0) expect(blue).toBeGreaterThan(red);
    if (product(token) < 0) expect(red).toBeGreaterThan(blue);
  }
  expect(shaded).toBeGreaterThan(5);
  // The same from the keyboard: the menu names every dimension.
  const menu = view.find<HTMLSelectElement>(".bl-pane select");
  expect(menu.value).toBe("3");
  menu.value = "";
  menu.dispatchEvent(new Event("change"));
  await eventually(() => expect(view.find(".bl-running").hidden).toBe(true));
});

test("where the pointer rests another token is asked about", async () => {
  const view = panes(["token", "query-key"], { traits: { token: 13 } });
  view.button("open").click();
  await painted(view, "from 13");
  point(view.all("[role=option]")[5]!);
  await painted(view, "from 5");
  expect(asked(view).map(({ index }) => index)).toEqual([13, 5]);
});

test("in an explorer the pane asks for nothing until it is opened", async () => {
  const view = panes(["head", "query-key"], { traits: { token: 13 } });
  await eventually(() => expect(view.store.page.painted.value).toBe(true));
  expect(asked(view)).toEqual([]);
  expect(view.button("open").getAttribute("aria-expanded")).toBe("false");
  view.button("open").click();
  await painted(view, "from 13");
  view.button("close").click();
  expect(view.find(".bl-inside").checkVisibility()).toBe(false);
});

test("at word level the pinned token itself is asked about", async () => {
  const view = alone({ traits: { token: 16, level: "word" } });
  await painted(view, "from 16");
  expect(asked(view)).toMatchObject([{ index: 16 }]);
});

test("a family that keeps queries and keys to itself says so in the pane", async () => {
  const view = alone({ refusal: "MPNetModel keeps them out of reach", traits: { token: 13 } });
  await eventually(() => expect(sentence(view)).toBe("MPNetModel keeps them out of reach"));
  expect(view.find(".bl-inside").checkVisibility()).toBe(false);
  expect(view.store.page.error.value).toBeNull();
});

test("without a head, a token or a kernel one sentence says what to do", async () => {
  const view = alone({ traits: { token: null } });
  expect(sentence(view)).toBe("Choose a token to see how its weights come about.");
  view.store.traits.heads.value = [];
  expect(sentence(view)).toBe("Switch a head on to see how its weights come about.");
  view.dispose();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const dead = alone({ dead: true, traits: { token: 13 } });
  vi.advanceTimersByTime(10_000);
  vi.useRealTimers();
  expect(sentence(dead)).toBe("Queries and keys come with a running kernel.");
});

test("scores, weights and products are copied as a table", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const view = alone({ causal: true, traits: { token: 13 } });
  await painted(view, "from 13");
  view.find<HTMLButtonElement>("[aria-label='Copy scores, weights and products as text']").click();
  await eventually(() => expect(write).toHaveBeenCalled());
  const rows = write.mock.calls[0]![0].split("\n").map((line) => line.split("\t"));
  expect(rows[1]!.slice(0, 7)).toEqual([
    "token",
    "index",
    "weight",
    "score",
    "q·k",
    "mask",
    "q×k 0",
  ]);
  expect(rows).toHaveLength(2 + 19);
  expect(rows[2]!.slice(0, 2)).toEqual(["fresh", "14"]);
  expect(Number(rows[2]![4])).toBeCloseTo(dotOf(13, 14), 4);
  write.mockRestore();
});

test("of 512 tokens the first twelve are shown, then a hundred in a frame that scrolls", async () => {
  const view = alone({
    attention: synthetic(longText(512), 1, 2),
    traits: { token: 400, text: "" },
  });
  await painted(view, "from 400");
  expect(lines(view)).toHaveLength(1 + 12);
  view.button("more").click();
  await eventually(() => expect(lines(view)).toHaveLength(1 + 100));
  expect(view.find(".bl-inside-frame").clientHeight).toBeLessThan(330);
  expect(view.el.scrollWidth).toBeLessThanOrEqual(900);
});

test("shift-click on a second token colours the grid by the pair and names five heads", async () => {
  const view = panes(["grid", "token"], { traits: { token: 13 } });
  const pieces = () => view.all(".bl-pane-token [role=option]");
  pieces()[14]!.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  await eventually(() => expect(view.find(".bl-grid").dataset.painted).toBe("13 -> 14"));
  expect(view.model.asked("between")).toMatchObject([{ from: 13, to: 14, keep: true }]);
  expect(view.model.saved.token).toBeUndefined();
  await eventually(() => expect(view.model.saved).toMatchObject({ score: { name: "13 -> 14" } }));
  // Head 0 attends to the next token, the more the lower the layer.
  const best = view.all(".bl-best button").map((button) => button.textContent!.split(" ")[0]);
  expect(best).toHaveLength(5);
  expect(best.slice(0, 3)).toEqual(["0-0", "1-0", "2-0"]);
  view.all(".bl-best button")[1]!.click();
  expect([view.store.traits.layer.value, view.store.traits.heads.value]).toEqual([1, [0]]);
  // While a pair is shown, the token that the pointer rests on takes the second's place.
  point(pieces()[12]!);
  await eventually(() => expect(view.find(".bl-grid").dataset.painted).toBe("13 -> 12"));
  expect(view.model.asked("between").at(-1)).not.toHaveProperty("keep");
  pieces()[12]!.dispatchEvent(new PointerEvent("pointerout", { bubbles: true }));
  view.find(".bl-pane-token [role=listbox]").dispatchEvent(new PointerEvent("pointerleave"));
  await eventually(() => expect(view.find(".bl-grid").dataset.painted).toBe("13 -> 14"));
});

test("Shift and Enter join tokens from the keyboard", async () => {
  const view = panes(["grid", "token"], { traits: { token: 13, side: "to" } });
  const piece = view.all(".bl-pane-token [role=option]")[5]!;
  piece.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true }),
  );
  await eventually(() => expect(view.model.asked("between")).toMatchObject([{ from: 5, to: 13 }]));
});

test("the lines show value norms on request", async () => {
  const view = panes(["head"]);
  const menu = view
    .all("label")
    .find((label) => label.textContent?.startsWith("lines weights"))!
    .querySelector("select")!;
  menu.value = "value";
  menu.dispatchEvent(new Event("change"));
  await eventually(() => expect(view.model.saved.norm).toBe("value"));
});

for (const background of ["#ffffff", "#16191d"]) {
  test(`axe finds nothing on ${background}`, async () => {
    document.body.style.background = background;
    const view = alone({ attention: synthetic(storePair()), traits: { token: 13 } });
    await painted(view, "from 13");
    const strip = view.all(".bl-strip canvas")[2]!;
    const { left, top } = strip.getBoundingClientRect();
    strip.dispatchEvent(
      new MouseEvent("click", { bubbles: true, clientX: left + 3, clientY: top + 3 }),
    );
    await eventually(() => expect(view.find(".bl-running").hidden).toBe(false));
    await expectAccessible(pane(view));
    document.body.style.background = "";
  });
}
