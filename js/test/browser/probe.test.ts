import { afterEach, expect, test } from "vitest";
import type { Example, Probed } from "../../src/state/store";
import { eventually, expectAccessible, press, type Shown, show } from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

const probed: Probed = {
  treebank: "dev.conllu",
  relations: [
    { name: "all", support: 5 },
    { name: "obj", support: 3 },
    { name: "<b>nsubj</b>", support: 2 },
  ],
  held_out: false,
};

const STORE = "I went to the store and bought strawberries".split(" ");

/** Three objects: a hit at -2, a miss at -1, a hit at -2; head 1 misses all. */
function examples(relation: string, _: number, head: number): Example[] {
  if (relation !== "obj") return [];
  const made: Example[] = [
    { sentence: 0, words: STORE, dependent: 5, head: 3, guess: 3, relation },
    { sentence: 0, words: STORE, dependent: 8, head: 7, guess: 2, relation },
    {
      sentence: 4,
      words: ["Read", "the", "<i>book</i>"],
      dependent: 3,
      head: 1,
      guess: 1,
      relation,
    },
  ];
  return head === 1 ? made.map((one) => ({ ...one, guess: 2 })) : made;
}

function pane(traits: Record<string, unknown> = {}, options: Parameters<typeof show>[1] = {}) {
  shown = show(["probe"], {
    traits: { probed, relation: "obj", ...traits },
    examples,
    width: 600,
    ...options,
  });
  return shown;
}

const lines = (view: Shown) => view.all(".bl-example");
const labels = (view: Shown) => lines(view).map((line) => line.textContent!.trim());
const select = (view: Shown, label: string) =>
  view.all("label").find((one) => one.textContent!.startsWith(`${label} `))!
    .firstElementChild as HTMLSelectElement;
const pick = (menu: HTMLSelectElement, value: string) => {
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
};

test("every word of the relation is a sentence with its right head and the head's own", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  expect(labels(view)).toEqual([
    `hit: “store” hangs on “to”, in: ${STORE.join(" ")}`,
    `miss: “strawberries” hangs on “bought”, this head picks “went”, in: ${STORE.join(" ")}`,
    "hit: “<i>book</i>” hangs on “Read”, in: Read the <i>book</i>",
  ]);
  expect(view.find(".bl-note:not(.bl-example-pages)").textContent).toBe(
    "Head 0-0 finds the head of 2 of 3 words (66.7%) with relation obj, dependent → head, in dev.conllu",
  );
  // A treebank's words are text.
  expect(view.all("i, b")).toEqual([]);
});

test("a hit has one arc, from the word to its head; a miss has two", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  const arcs = lines(view).map((line) => line.querySelectorAll("path").length);
  expect(arcs).toEqual([1, 2, 1]);
  const line = lines(view)[2]!;
  const [start, end] = [".bl-dependent", ".bl-gold"].map((name) => {
    const box = line.querySelector(name)!.getBoundingClientRect();
    return box.left + box.width / 2;
  });
  const drawn = line.querySelector("path")!.getBoundingClientRect();
  expect(drawn.right).toBeCloseTo(start!, -1);
  expect(drawn.left).toBeCloseTo(end!, -1);
});

test("a long sentence begins near the words in question", async () => {
  const words = Array.from({ length: 60 }, (_, i) => `w${i + 1}`);
  const one: Example = { sentence: 0, words, dependent: 40, head: 42, guess: 42, relation: "obj" };
  const view = pane({}, { examples: () => [one] });
  await eventually(() => expect(lines(view)).toHaveLength(1));
  expect(view.find(".bl-example-words").textContent).toMatch(/^… w35 /);
});

test("hits, misses and distances are filters", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  view.button("misses").click();
  await eventually(() => expect(labels(view)).toEqual([expect.stringMatching(/^miss/)]));
  view.button("all").click();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  const distance = select(view, "distance");
  expect([...distance.options].map((option) => option.text)).toEqual(["any", "−2 (2)", "−1 (1)"]);
  pick(distance, "-2");
  await eventually(() => expect(lines(view)).toHaveLength(2));
  view.button("misses").click();
  await eventually(() =>
    expect(view.find(".bl-empty").textContent).toBe("No word passes these filters."),
  );
});

test("another relation or head has other examples, and Python hears of the relation", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  view.model.fromKernel({ heads: [1] });
  await eventually(() =>
    expect(labels(view).every((label) => label.startsWith("miss"))).toBe(true),
  );
  const relation = select(view, "relation");
  expect([...relation.options].map((option) => option.text)).toEqual([
    "all (5)",
    "obj (3)",
    "<b>nsubj</b> (2)",
  ]);
  pick(relation, "<b>nsubj</b>");
  await eventually(() => expect(view.model.saved.relation).toBe("<b>nsubj</b>"));
  await eventually(() => expect(lines(view)).toHaveLength(0));
});

test("a click opens the sentence, and the open one is marked", async () => {
  const view = pane({}, { opened: () => ({ example: examples("obj", 0, 0)[2]! }) });
  await eventually(() => expect(lines(view)).toHaveLength(3));
  const before = lines(view);
  lines(view)[2]!.click();
  await eventually(() =>
    expect(view.model.asked("open")).toMatchObject([{ sentence: 4, dependent: 3 }]),
  );
  await eventually(() => expect(lines(view)[2]!.getAttribute("aria-selected")).toBe("true"));
  // Though the text is another now, the list stays as it was.
  expect(lines(view)).toEqual(before);
  expect(view.store.page.busy.value).toBe(false);
});

test("arrows lead from sentence to sentence and Enter opens one", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  const start = view.find(".bl-example[tabindex='0']");
  start.focus();
  press(start, "ArrowDown");
  expect(document.activeElement).toBe(lines(view)[1]);
  press(lines(view)[1]!, "Enter");
  await eventually(() =>
    expect(view.model.asked("open")).toMatchObject([{ sentence: 0, dependent: 8 }]),
  );
});

test("many examples come a page at a time", async () => {
  const many = Array.from({ length: 120 }, (_, sentence): Example => {
    return { sentence, words: ["Read", "it"], dependent: 2, head: 1, guess: 1, relation: "obj" };
  });
  const view = pane({}, { examples: () => many });
  await eventually(() => expect(lines(view)).toHaveLength(50));
  const pages = view.find(".bl-example-pages");
  expect(pages.textContent).toBe("earlier 1 to 50 of 120 later");
  expect(view.button("earlier").disabled).toBe(true);
  view.button("later").click();
  await eventually(() => expect(view.model.asked("examples").at(-1)!.start).toBe(50));
  view.button("later").click();
  await eventually(() => expect(lines(view)).toHaveLength(20));
  expect(pages.textContent).toBe("earlier 101 to 120 of 120 later");
  expect(view.button("later").disabled).toBe(true);
});

test("without a table, a head or an answer it says what is missing", async () => {
  const view = pane({ probed: null, relation: null });
  expect(view.find(".bl-empty").textContent).toContain("view.probe_view(table)");
  view.model.fromKernel({ probed, relation: "obj", heads: [] });
  expect(view.find(".bl-empty").textContent).toContain("No head is on");
});

test("people who cannot see it can use it", async () => {
  const view = pane({ example: examples("obj", 0, 0)[1]! });
  await eventually(() => expect(lines(view)).toHaveLength(3));
  await expectAccessible(view.el);
});

test("it leaves nothing behind", async () => {
  const view = pane();
  await eventually(() => expect(lines(view)).toHaveLength(3));
  view.dispose();
  shown = undefined;
  expect(view.model.listeners()).toBe(0);
});
