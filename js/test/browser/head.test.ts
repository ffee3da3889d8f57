import { afterEach, expect, test } from "vitest";
import { mountFrame } from "../../src/app/frame";
import type { Traits } from "../../src/state/store";
import { longText, synthetic, tokenColumns } from "../../test-support/attention";
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

type Options = Parameters<typeof show>[1];

async function head(options: Options = {}): Promise<Shown> {
  shown = show(["head"], { width: 640, ...options });
  const { layer, heads } = shown.store.traits;
  await painted(shown, `1:${layer.value}:${heads.value.join(",")}`);
  return shown;
}

function painted(view: Shown, name: string): Promise<void> {
  return eventually(() => expect(view.find(".bl-pane-head").dataset.painted).toBe(name));
}

function hovered(view: Shown, name: string | undefined): Promise<void> {
  return eventually(() => expect(view.find(".bl-pane-head").dataset.hover).toBe(name));
}

function token(view: Shown, side: "from" | "to", index: number): HTMLElement {
  return view.find(`.bl-token[data-side=${side}][data-index="${index}"]`);
}

function swatch(view: Shown, number: number): HTMLButtonElement {
  return view.find(`.bl-swatch[aria-label="Head ${number}"]`);
}

/** The opacity of the lines beside the middle of a token, on the side where they end. */
function ink(view: Shown, side: "from" | "to", index: number, layer = "base"): number {
  const canvas = view.find<HTMLCanvasElement>(`.bl-canvas-${layer}`);
  const box = token(view, side, index).getBoundingClientRect();
  const frame = canvas.getBoundingClientRect();
  const x = side === "from" ? box.right + 3 : box.left - 3;
  const at = ((x - frame.left) / frame.width) * canvas.width;
  const y = ((box.top + box.height / 2 - frame.top) / frame.height) * canvas.height;
  const { data } = canvas.getContext("2d")!.getImageData(Math.floor(at), Math.floor(y) - 1, 1, 3);
  return Math.max(data[3]!, data[7]!, data[11]!);
}

test("a line leaves every token for the next one, under head 0", async () => {
  const view = await head();
  for (const index of [0, 5, 17]) {
    expect(ink(view, "from", index)).toBeGreaterThan(100);
    expect(ink(view, "to", index + 1)).toBeGreaterThan(100);
  }
  expect(ink(view, "to", 0)).toBe(0);
});

test("the labels are the person's text, with special tokens and the second text set off", async () => {
  const view = await head();
  expect(token(view, "from", 1).textContent).toBe("I");
  expect(token(view, "from", 16).textContent).toBe("berries");
  expect(token(view, "from", 16).hasAttribute("data-joined")).toBe(true);
  expect(token(view, "from", 0).hasAttribute("data-special")).toBe(true);
  expect(token(view, "to", 8).hasAttribute("data-begins")).toBe(true);
});

test("token text is shown as it is, never as markup", async () => {
  const attention = synthetic(tokenColumns([[["<img src=x>"], ["&amp;"]]]));
  const view = await head({ attention });
  expect(token(view, "from", 1).textContent).toBe("<img src=x>");
  expect(view.all("img")).toEqual([]);
});

test("a click on a swatch adds its head last, another takes it off", async () => {
  const view = await head();
  swatch(view, 2).click();
  await painted(view, "1:0:0,2");
  expect(view.model.saved.heads).toEqual([0, 2]);
  expect(swatch(view, 2).getAttribute("aria-pressed")).toBe("true");
  swatch(view, 0).click();
  await painted(view, "1:0:2");
  expect(view.model.saved.heads).toEqual([2]);
  expect(ink(view, "to", 0)).toBeGreaterThan(100);
});

test("a double click shows a head alone; the button takes all, then none", async () => {
  const view = await head({ traits: { heads: [0, 1] } });
  swatch(view, 3).dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await painted(view, "1:0:3");
  view.button("all").click();
  await eventually(() =>
    expect([...(view.model.saved.heads as number[])].sort()).toEqual([0, 1, 2, 3]),
  );
  expect(view.store.selected.value).toBe(3);
  view.button("none").click();
  await painted(view, "1:0:");
  expect(view.find(".bl-empty").textContent).toContain("No head is on");
});

test("the layer follows its menu, its buttons, the keys and Python", async () => {
  const view = await head();
  const menu = view.find<HTMLSelectElement>(".bl-pane-tools label:not([hidden]) select");
  menu.value = "2";
  menu.dispatchEvent(new Event("change"));
  await painted(view, "1:2:0");
  view.button("‹").click();
  await painted(view, "1:1:0");
  press(token(view, "from", 0), "[");
  await painted(view, "1:0:0");
  expect(view.button("‹").disabled).toBe(true);
  view.model.fromKernel({ layer: 2 });
  await painted(view, "1:2:0");
  expect(menu.value).toBe("2");
});

test("pointing at a token shows its lines only, and the weights on the other side", async () => {
  const view = await head();
  point(token(view, "from", 3));
  await hovered(view, "from:3");
  expect(ink(view, "to", 4, "top")).toBeGreaterThan(100);
  expect(ink(view, "to", 10, "top")).toBe(0);
  expect(view.find(".bl-canvas-base").hasAttribute("data-dim")).toBe(true);
  const top = view.find<HTMLCanvasElement>(".bl-canvas-top");
  const box = token(view, "to", 4).getBoundingClientRect();
  const frame = top.getBoundingClientRect();
  const { data } = top
    .getContext("2d")!
    .getImageData(box.left + box.width / 2 - frame.left, box.top + 5 - frame.top, 1, 1);
  expect(data[3]).toBeGreaterThan(60);
  view.find(".bl-column-from").dispatchEvent(new PointerEvent("pointerleave"));
  await hovered(view, undefined);
  expect(view.model.saved).toEqual({});
});

test("pointing at a token on the right shows where its attention comes from", async () => {
  const view = await head();
  point(token(view, "to", 4));
  await hovered(view, "to:4");
  expect(ink(view, "from", 3, "top")).toBeGreaterThan(100);
  expect(ink(view, "from", 9, "top")).toBe(0);
});

test("a click pins a token in Python, the same click or Escape frees it", async () => {
  const view = await head();
  token(view, "to", 5).click();
  await eventually(() => expect(view.model.saved).toMatchObject({ token: 5, side: "to" }));
  expect(token(view, "to", 5).getAttribute("aria-selected")).toBe("true");
  token(view, "to", 5).click();
  await eventually(() => expect(view.model.saved.token).toBeNull());
  token(view, "from", 2).click();
  await eventually(() => expect(view.model.saved).toMatchObject({ token: 2, side: "from" }));
  press(token(view, "from", 2), "Escape");
  await eventually(() => expect(view.model.saved.token).toBeNull());
});

test("one Tab stop, which arrows move and Enter pins", async () => {
  const view = await head();
  expect(view.all(".bl-token[tabindex='0']")).toEqual([token(view, "from", 0)]);
  token(view, "from", 0).focus();
  await hovered(view, "from:0");
  press(token(view, "from", 0), "ArrowDown");
  press(token(view, "from", 1), "ArrowRight");
  expect(document.activeElement).toBe(token(view, "to", 1));
  press(token(view, "to", 1), "End");
  expect(document.activeElement).toBe(token(view, "to", 18));
  press(token(view, "to", 18), "Enter");
  await eventually(() => expect(view.model.saved).toMatchObject({ token: 18, side: "to" }));
  expect(view.all(".bl-token[tabindex='0']")).toEqual([token(view, "to", 18)]);
});

test("no plain key leaves the widget, and what hears it opts out of the host's shortcuts", async () => {
  const view = await head();
  const heard: string[] = [];
  const listen = (event: KeyboardEvent) => heard.push(event.key);
  document.body.addEventListener("keydown", listen);
  for (const selector of [
    ".bl-swatch",
    "label:not([hidden]) > .bl-menu",
    ".bl-text",
    ".bl-token",
  ]) {
    const element = view.all(selector)[0]!;
    element.focus();
    press(element, "a");
    expect(element.closest("[data-lm-suppress-shortcuts=true]")).not.toBeNull();
  }
  document.body.removeEventListener("keydown", listen);
  expect(heard).toEqual([]);
});

test("what the pointer shows is said in words, from exact weights", async () => {
  const view = await head();
  token(view, "from", 3).focus();
  // Head 0, layer 0: 1.002 of 1.038 goes to the next token, 0.002 to each other one.
  await eventually(() =>
    expect(view.find("[aria-live]").textContent).toContain("to attends to the 0.965"),
  );
});

test("a filter draws lines between the named texts only, and fades the rest", async () => {
  const view = await head({ traits: { heads: [3] } });
  view.button("A→B").click();
  await eventually(() => expect(view.model.saved.segment_filter).toBe("a->b"));
  await eventually(() => expect(ink(view, "from", 10)).toBe(0));
  expect(ink(view, "from", 3)).toBeGreaterThan(0);
  expect(ink(view, "to", 3)).toBe(0);
  expect(ink(view, "to", 10)).toBeGreaterThan(0);
  expect(token(view, "to", 3).hasAttribute("data-outside")).toBe(true);
});

test("a single text has no filter", async () => {
  const view = await head({ attention: synthetic(longText(9)) });
  expect(view.find(".bl-choice").hidden).toBe(true);
});

function pick(view: Shown, label: string, value: string): void {
  const found = view.all("label").filter((element) => element.textContent!.startsWith(label));
  const menu = found[0]!.querySelector("select")!;
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
}

test("hidden special tokens leave the text, and their share is said", async () => {
  const view = await head({ traits: { heads: [2] } });
  pick(view, "specials", "hide");
  await eventually(() => expect(view.all(".bl-column-from .bl-token")).toHaveLength(16));
  // Head 2, layer 0: of each row, 1.002 to [CLS] and 0.002 to each [SEP], of 1.038 in all.
  await eventually(() =>
    expect(view.find(".bl-left-out").textContent).toContain(
      "special tokens hidden: 97% of the weight",
    ),
  );
  pick(view, "specials", "renormalise");
  await eventually(() => expect(view.model.saved.special).toBe("renormalise"));
  // What is left is even: one line in 16 each, now strong enough to be drawn.
  await eventually(() => expect(ink(view, "to", 9)).toBeGreaterThan(10));
});

test("at word level pieces are one", async () => {
  const view = await head();
  pick(view, "level", "word");
  await eventually(() => expect(view.all(".bl-column-to .bl-token")).toHaveLength(18));
  expect(token(view, "to", 15).textContent).toBe("strawberries");
  await eventually(() => expect(ink(view, "to", 15)).toBeGreaterThan(100));
});

test("the smallest weight drawn can be set, and what is not drawn is said", async () => {
  const view = await head({ traits: { heads: [3] } });
  // Head 3 is even: 19 lines of 0.053 each.
  await eventually(() => expect(view.find(".bl-left-out").textContent).toContain("hidden: 0%"));
  const slider = view.find<HTMLInputElement>(".bl-slider input");
  slider.value = "40";
  slider.dispatchEvent(new Event("input"));
  await eventually(() =>
    expect(view.find(".bl-left-out").textContent).toBe(
      "lines under 0.16 hidden: 100% of the weight",
    ),
  );
  expect(view.model.saved.min_weight).toBeCloseTo(0.16);
  expect(ink(view, "from", 4)).toBe(0);
});

test("a long text scrolls inside, and only what is on screen is drawn", async () => {
  const view = await head({ attention: synthetic(longText(512), 1, 2), traits: { heads: [0, 1] } });
  const scroll = view.find(".bl-scroll");
  expect(scroll.clientHeight).toBeLessThanOrEqual(600);
  expect(scroll.scrollHeight).toBeGreaterThan(8000);
  expect(view.find<HTMLCanvasElement>(".bl-canvas-base").height).toBeLessThan(1500);
  scroll.scrollTop = 6000;
  await eventually(() => {
    const middle = Math.round(6300 / (scroll.scrollHeight / 512));
    expect(ink(view, "from", middle)).toBeGreaterThan(100);
  });
});

test("a token pinned in Python scrolls into sight", async () => {
  const view = await head({ attention: synthetic(longText(300), 1, 1) });
  view.model.fromKernel({ token: 250 });
  await hovered(view, "from:250");
  const box = token(view, "from", 250).getBoundingClientRect();
  const frame = view.find(".bl-scroll").getBoundingClientRect();
  expect(box.top).toBeGreaterThanOrEqual(frame.top);
  expect(box.bottom).toBeLessThanOrEqual(frame.bottom);
});

test("a new text replaces the old one and clears the pin", async () => {
  const view = await head({ retext: () => synthetic(longText(9)), traits: { token: 3 } });
  const box = view.find<HTMLTextAreaElement>('.bl-text[aria-label="Text"]');
  box.value = "something else";
  press(box, "Enter");
  await painted(view, "2:0:0");
  expect(view.model.asked("text")).toMatchObject([{ text: "something else" }]);
  expect(view.all(".bl-column-from .bl-token")).toHaveLength(9);
  expect(view.store.traits.token.value).toBeNull();
});

test("a text that fails leaves the old one, and says why", async () => {
  const view = await head({ retext: () => "The text is empty: type at least one word" });
  const box = view.find<HTMLTextAreaElement>('.bl-text[aria-label="Text"]');
  box.value = "";
  box.dispatchEvent(new Event("change"));
  await eventually(() =>
    expect(view.find("[role=alert]").textContent).toContain("The text is empty"),
  );
  expect(view.all(".bl-column-from .bl-token")).toHaveLength(19);
});

test("two renders of one model stay in step", async () => {
  const view = await head();
  const second = document.createElement("div");
  document.body.append(second);
  const unmount = mountFrame(second, view.store);
  const other = (selector: string) => second.querySelector<HTMLElement>(selector)!;
  await eventually(() => expect(other(".bl-pane-head").dataset.painted).toBe("1:0:0"));
  other('.bl-swatch[aria-label="Head 1"]').click();
  await painted(view, "1:0:0,1");
  token(view, "from", 4).click();
  await eventually(() =>
    expect(other('[data-side=from][data-index="4"]').getAttribute("aria-selected")).toBe("true"),
  );
  unmount();
  expect(second.childElementCount).toBe(0);
  swatch(view, 0).click();
  await painted(view, "1:0:1");
});

test("a render into a detached element draws once it is on the page", async () => {
  const view = await head();
  const later = document.createElement("div");
  const unmount = mountFrame(later, view.store);
  await new Promise(requestAnimationFrame);
  expect(later.querySelector<HTMLElement>(".bl-pane-head")!.dataset.painted).toBeUndefined();
  document.body.append(later);
  await eventually(() =>
    expect(later.querySelector<HTMLElement>(".bl-pane-head")!.dataset.painted).toBe("1:0:0"),
  );
  unmount();
  later.remove();
});

test("without a kernel the text stands, and the page says what is missing", async () => {
  shown = show(["head"], { dead: true, width: 640 });
  const view = shown;
  expect(token(view, "from", 13).textContent).toBe("bought");
  await eventually(
    () => expect(view.find("[role=status]").textContent).toContain("No kernel answers"),
    { timeout: 6000 },
  );
});

const looks: { name: string; width: number; ground: string; traits: Partial<Traits> }[] = [
  { name: "light", width: 640, ground: "#ffffff", traits: {} },
  { name: "dark", width: 640, ground: "#14171b", traits: { heads: [0, 2], token: 5 } },
  { name: "narrow", width: 320, ground: "#ffffff", traits: { special: "hide" } },
];

test.each(looks)("nothing for axe to find: $name", async ({ width, ground, traits }) => {
  document.body.style.background = ground;
  const view = await head({ width, traits });
  if (traits.token) await hovered(view, `from:${traits.token}`);
  await expectAccessible(view.el);
});

test("nothing is cut off at 320 pixels", async () => {
  const view = await head({ width: 320 });
  const right = view.el.getBoundingClientRect().right;
  for (const element of view.all(".bl-frame *")) {
    if (element.closest(".bl-unseen") || element.tagName === "OPTION") continue;
    expect(element.getBoundingClientRect().right, element.className).toBeLessThanOrEqual(
      right + 0.5,
    );
  }
});
