import { afterEach, expect, test, vi } from "vitest";
import { longText, storePair, synthetic, tokenColumns } from "../../test-support/attention";
import { shadeOf } from "../../test-support/shade";
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
});

function token(options: Parameters<typeof show>[1] = {}): Shown {
  shown = show(["token"], options);
  return shown;
}

const pane = (view: Shown) => view.find(".bl-pane");
const piece = (view: Shown, index: number) => view.all("[role=option]")[index]!;
const ranks = (view: Shown) =>
  view
    .all(".bl-ranking tbody tr")
    .map((row) => [...row.children].filter((_, i) => i !== 1).map((cell) => cell.textContent));

async function painted(view: Shown, what: string) {
  await eventually(() => expect(pane(view).dataset.painted).toBe(what));
}

/** Layer 0, head 0 of the synthetic text: 1.002 on the next token and 0.002 on each of the other 18. */
const next = (1.002 / (1.002 + 18 * 0.002)).toFixed(3);
const other = (0.002 / (1.002 + 18 * 0.002)).toFixed(3);

test("the pinned token's attention is ranked with exact numbers", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  expect(ranks(view)[0]).toEqual(["fresh", next]);
  expect(ranks(view)[1]).toEqual(["[CLS]", other]);
  expect(view.find(".bl-caption").textContent).toBe("“bought” attends to, head 0-0");
});

test("the other side shows where its attention comes from", async () => {
  const view = token({ traits: { token: 13 } });
  view.button("attended from").click();
  await painted(view, "to 13");
  expect(ranks(view)[0]).toEqual(["I", next]);
  await eventually(() => expect(view.model.saved).toMatchObject({ side: "to" }));
  expect(view.find(".bl-caption").textContent).toBe("“bought” is attended from, head 0-0");
});

test("several heads have a column each and their mean", async () => {
  const view = token({ traits: { token: 13, heads: [0, 1] } });
  await painted(view, "from 13");
  expect(view.all(".bl-ranking thead th").map((th) => th.textContent)).toEqual([
    "token",
    "0-0",
    "0-1",
    "mean",
  ]);
  const half = ((Number(next) + Number(other)) / 2).toFixed(2);
  const first = ranks(view)[0]!;
  expect(first.slice(0, 3)).toEqual(["I", other, next]);
  expect(Number(first[3])).toBeCloseTo(Number(half), 2);
  expect(ranks(view)[1]!.slice(0, 3)).toEqual(["fresh", next, other]);
});

test("without a token every token shows what it receives", async () => {
  const view = token({ traits: { heads: [2] } });
  await painted(view, "received");
  expect(view.find(".bl-caption").textContent).toBe("Attention that each token receives, head 0-2");
  expect(ranks(view)[0]).toEqual(["[CLS]", next]);
});

test("in a long text tokens that read the same say which they are, small weights have a digit more", async () => {
  const text = storePair();
  const n = text.label.length;
  const label = text.label.map((_, i) => (i % 2 ? "same" : `token ${i}`));
  const attention = synthetic({ ...text, label });
  attention.weights.fill(0.004, 0, n * n);
  const view = token({ attention });
  await painted(view, "received");
  const rows = view.all(".bl-ranking tbody th");
  expect(rows.map((row) => [row.textContent, row.dataset.at])).toEqual([
    ["token 0", undefined],
    ["same", "1"],
    ["token 2", undefined],
    ["same", "3"],
    ["token 4", undefined],
    ["same", "5"],
    ["token 6", undefined],
    ["same", "7"],
  ]);
  expect(ranks(view)[0]).toEqual(["token 0", "0.0040"]);
});

test("what is below the caption stays in place while the pointer moves over tokens", async () => {
  const view = token({ width: 320, traits: { heads: [0, 1, 2, 3] } });
  await painted(view, "received");
  const top = () => view.find(".bl-matrix-plot").getBoundingClientRect().top;
  const before = top();
  for (const index of [0, 13, 16]) {
    point(piece(view, index));
    await eventually(() => expect(pane(view).dataset.painted).toContain(`from ${index}`));
    expect(top()).toBe(before);
  }
});

test("hovering answers from the page and asks the kernel for no map", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  await eventually(() => expect(view.store.block(0, 0)).not.toBeNull());
  const asked = view.model.sent.length;
  view.model.dead = true;
  point(piece(view, 9));
  await painted(view, "from 9 near");
  expect(ranks(view)[0]).toEqual(["store", "≈0.97"]);
  expect(view.model.sent.slice(asked).filter((query) => query.kind !== "row")).toEqual([]);
});

test("where the pointer rests the numbers become exact", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  point(piece(view, 9));
  await painted(view, "from 9");
  expect(ranks(view)[0]).toEqual(["store", next]);
});

test("a click pins a token, a second click and Escape let it go", async () => {
  const view = token();
  piece(view, 4).click();
  await eventually(() => expect(view.model.saved.token).toBe(4));
  expect(piece(view, 4).getAttribute("aria-selected")).toBe("true");
  piece(view, 4).click();
  await eventually(() => expect(view.model.saved.token).toBe(null));
  piece(view, 5).click();
  press(document.activeElement!, "Escape");
  await eventually(() => expect(view.model.saved.token).toBe(null));
});

test("the text is one tab stop whose arrows move and Enter pins", async () => {
  const view = token();
  const stops = () => view.all("[role=option][tabindex='0']");
  expect(stops()).toEqual([piece(view, 0)]);
  stops()[0]!.focus();
  press(document.activeElement!, "ArrowRight");
  press(document.activeElement!, "ArrowRight");
  expect(document.activeElement).toBe(piece(view, 2));
  press(document.activeElement!, "Enter");
  await eventually(() => expect(view.model.saved.token).toBe(2));
});

test("the text reads as it was written", () => {
  const view = token();
  expect(view.find("[role=listbox]").textContent).toBe(
    "[CLS] I went to the store. [SEP]At the store, I bought fresh strawberries. [SEP]",
  );
});

test("right-to-left text runs right to left, and its arrows with it", () => {
  const attention = synthetic(tokenColumns([[["ذهب"], ["إلى"], ["السوق"]]]));
  const view = token({ attention, traits: { text: "ذهب إلى السوق", text_pair: null } });
  expect(view.find("[role=listbox]").dir).toBe("rtl");
  expect(piece(view, 1).getBoundingClientRect().left).toBeGreaterThan(
    piece(view, 2).getBoundingClientRect().left,
  );
  piece(view, 1).focus();
  press(document.activeElement!, "ArrowLeft");
  expect(document.activeElement).toBe(piece(view, 2));
});

test("tokens are text, never markup", () => {
  const attention = synthetic(tokenColumns([[["<b>x</b>"], ["<img src=x onerror=alert(1)>"]]]));
  const view = token({ attention });
  expect(view.all("[role=listbox] b, [role=listbox] img")).toEqual([]);
  expect(piece(view, 1).textContent).toBe("<b>x</b>");
});

test("hidden special tokens are neither ranked nor shaded", async () => {
  const view = token({ traits: { token: 13, heads: [2], special: "hide" } });
  await painted(view, "from 13");
  expect(ranks(view).flat()).not.toContain("[CLS]");
  expect(shadeOf(piece(view, 0))[3]).toBe(0);
  expect(shadeOf(piece(view, 14))[3]).toBeGreaterThan(0);
});

test("renormalised, the other tokens share what is left", async () => {
  const view = token({ traits: { token: 13, heads: [2], special: "renormalise" } });
  await painted(view, "from 13");
  // all that is not on [CLS] is even over 18 tokens, of which 2 are special
  expect(ranks(view)[0]).toEqual(["I", (1 / 16).toFixed(3)]);
});

test("words are one item each", async () => {
  const view = token({ traits: { level: "word", token: 15 } });
  await painted(view, "from 15");
  expect(piece(view, 15).textContent).toBe("strawberries");
  expect(view.find(".bl-caption").textContent).toContain("“strawberries”");
});

test("the strongest token has the strongest shade, in its head's colour", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  const alpha = (index: number) => shadeOf(piece(view, index))[3];
  expect(alpha(14)).toBeGreaterThan(0.3);
  expect(alpha(3)).toBeLessThan(0.05);
});

test("the list grows on request", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  expect(ranks(view)).toHaveLength(8);
  view.button("more").click();
  await eventually(() => expect(ranks(view)).toHaveLength(19));
});

test("all weights are copied as a table", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const view = token({ traits: { token: 13, heads: [0, 1] } });
  await painted(view, "from 13");
  view.find<HTMLButtonElement>("[aria-label='Copy all weights as text']").click();
  await eventually(() => expect(write).toHaveBeenCalled());
  const lines = write.mock.calls[0]![0].split("\n").map((line) => line.split("\t"));
  expect(lines).toHaveLength(2 + 19);
  expect(lines[1]).toEqual(["token", "index", "0-0", "0-1", "mean"]);
  expect(lines[2]!.slice(0, 2)).toEqual(["I", "12"]);
  write.mockRestore();
});

test("on the way to another layer the last numbers stay, dimmed", async () => {
  const view = token({ traits: { token: 13 } });
  await painted(view, "from 13");
  view.model.dead = true;
  view.store.traits.layer.value = 1;
  await eventually(() => expect(pane(view).hasAttribute("data-waiting")).toBe(true));
  expect(ranks(view)[0]).toEqual(["fresh", next]);
  expect(pane(view).dataset.painted).toBeUndefined();
});

test("without a kernel the text is there and the rest is said", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const view = token({ dead: true, traits: { token: 13 } });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  expect(piece(view, 13).textContent).toBe("bought");
  expect(view.find(".bl-pane > .bl-empty").textContent).toBe("Weights come with a running kernel.");
  expect(view.find(".bl-matrix .bl-empty").textContent).toBe(
    "The matrix comes with a running kernel.",
  );
});

test("with no head on, one sentence says what to do", () => {
  const view = token({ traits: { heads: [], token: 13 } });
  expect(view.find(".bl-pane > .bl-empty").textContent).toBe(
    "Switch a head on to see where its attention goes.",
  );
  expect(view.find(".bl-ranking").checkVisibility()).toBe(false);
});

test("without a text one sentence says so, and the kernel is asked nothing", async () => {
  const none = { label: [], text: [], word: [], segment: [], special: [], continuation: [] };
  const tokens = { ...none, words: { label: [], segment: [], special: [] } };
  const view = token({ attention: { ...synthetic(longText(2)), tokens }, traits: { text: "" } });
  const sentences = view.all(".bl-empty").filter((el) => el.checkVisibility());
  expect(sentences.map((el) => el.textContent)).toEqual([
    "No text yet: type one to see where its tokens look.",
  ]);
  expect(view.model.sent).toEqual([]);
});

test("where the sides differ, the shades lie on the other text", async () => {
  const attention = synthetic(storePair());
  const view = token({ attention, traits: { token: 2 } });
  view.model.fromKernel({
    meta: { ...view.model.get("meta"), to: attention.tokens },
    generation: 2,
  });
  const [from, to] = view.all(".bl-running") as [HTMLElement, HTMLElement];
  const shaded = (el: HTMLElement) =>
    [...el.querySelectorAll<HTMLElement>(".bl-piece")].filter((piece) => shadeOf(piece)[3] > 0);
  await eventually(() => expect(shaded(to).length).toBeGreaterThan(0));
  expect(shaded(from)).toEqual([]);
});

test("512 tokens scroll within the view", async () => {
  const view = token({
    attention: synthetic(longText(512), 1, 2),
    width: 320,
    traits: { token: 400, text: "" },
  });
  await painted(view, "from 400");
  const text = view.find("[role=listbox]").getBoundingClientRect();
  const pinned = piece(view, 400).getBoundingClientRect();
  expect(text.height).toBeLessThan(200);
  expect(pinned.top).toBeGreaterThanOrEqual(text.top - 1);
  expect(pinned.bottom).toBeLessThanOrEqual(text.bottom + 1);
  expect(view.el.scrollWidth).toBeLessThanOrEqual(320);
});

for (const background of ["#ffffff", "#16191d"]) {
  test(`axe finds nothing on ${background}`, async () => {
    document.body.style.background = background;
    const view = token({ traits: { token: 13, heads: [0, 1, 2, 3] } });
    await painted(view, "from 13");
    await expectAccessible(pane(view));
    document.body.style.background = "";
  });
}
