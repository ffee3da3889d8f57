import { effect } from "@preact/signals-core";
import { afterEach, expect, test, vi } from "vitest";
import { type RowQuery, Store } from "../../src/state/store";
import { longText, storePair, synthetic } from "../../test-support/attention";
import { FakeModel, type FakeOptions } from "../../test-support/fake-model";

const stores: Store[] = [];

afterEach(() => {
  for (const store of stores.splice(0)) store.dispose();
  vi.useRealTimers();
});

function open(options: FakeOptions = {}, attention = synthetic(storePair())) {
  const model = new FakeModel(attention, options);
  const store = new Store(model as never);
  stores.push(store);
  return { model, store };
}

/** Lets messages and their answers run their course. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

test("what is set on the page reaches Python, several settings in one message", async () => {
  const { model, store } = open();
  store.traits.layer.value = 2;
  store.traits.heads.value = [0, 3];
  await settle();
  expect(model.saved).toEqual({ layer: 2, heads: [0, 3] });
  expect(model.saves).toBe(1);
});

test("what Python sets reaches the page and is not sent back", async () => {
  const { model, store } = open();
  model.fromKernel({ layer: 1, heads: [2] });
  await settle();
  expect(store.traits.layer.value).toBe(1);
  expect(store.traits.heads.value).toEqual([2]);
  expect(model.saves).toBe(0);
});

test("traits that Python changes together are seen together", () => {
  const { model, store } = open();
  const seen: string[] = [];
  const stop = effect(() => {
    seen.push(`${store.traits.generation.value}: ${store.traits.meta.value.from.label.length}`);
  });
  const tokens = longText(5);
  const meta = { ...store.traits.meta.peek(), from: tokens };
  model.fromKernel({ generation: 2, meta });
  stop();
  expect(seen).toEqual(["1: 19", "2: 5"]);
});

test("heads read in one turn are asked for in one request, each once", async () => {
  const { model, store } = open();
  store.block(1, 0);
  store.block(1, 2);
  store.block(1, 0);
  await settle();
  expect(model.asked("block").map(({ layer, heads }) => [layer, heads])).toEqual([[1, [0, 2]]]);
  // Head 0 of the fake attends to the next token: 255 * sqrt(1 / 1.072) or so, beside the diagonal.
  const map = store.block(1, 0)!;
  expect(map).toHaveLength(19 * 19);
  expect(map[1]).toBeGreaterThan(240);
  expect(map[0]).toBeLessThan(30);
});

test("a reader of one layer is not disturbed by another", async () => {
  const { store } = open();
  let runs = 0;
  const stop = effect(() => {
    store.block(0, 0);
    runs++;
  });
  await settle();
  expect(runs).toBe(2);
  store.block(2, 1);
  await settle();
  expect(runs).toBe(2);
  stop();
});

test("a large block is split by head", async () => {
  const { model, store } = open({}, synthetic(longText(1200), 1, 4));
  for (const head of [0, 1, 2, 3]) store.block(0, head);
  await settle();
  // 1,440,000 bytes a head: two fit into 4 MB.
  expect(model.asked("block").map(({ heads }) => heads)).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

test("maps of another text or level are never taken for this one", async () => {
  const { model, store } = open({ delay: 20 });
  vi.useFakeTimers();
  store.block(0, 1);
  await vi.advanceTimersByTimeAsync(5);
  store.traits.level.value = "word";
  await vi.advanceTimersByTimeAsync(30);
  // 18 words: "straw" and "berries" are one.
  store.block(0, 1);
  await vi.advanceTimersByTimeAsync(30);
  expect(store.block(0, 1)).toHaveLength(18 * 18);
  const shorter = synthetic(longText(7));
  model.attention = shorter;
  model.fromKernel({
    generation: 2,
    level: "token",
    meta: { ...store.traits.meta.peek(), from: shorter.tokens },
  });
  expect(store.block(0, 1)).toBeNull();
  await vi.advanceTimersByTimeAsync(30);
  expect(store.block(0, 1)).toHaveLength(49);
});

test("neighbouring layers are asked for ahead, but not while something else is under way", async () => {
  const { model, store } = open({ traits: { layer: 1, heads: [0, 3] } });
  store.block(1, 0);
  store.prefetch();
  await settle();
  expect(model.asked("block")).toHaveLength(1);
  store.prefetch();
  await settle();
  expect(model.asked("block").map(({ layer, heads }) => [layer, heads])).toEqual([
    [1, [0]],
    [2, [0, 3]],
    [0, [0, 3]],
  ]);
});

test("of a short text all layers are asked for ahead, nearest first; of a long one the neighbours", async () => {
  const ahead = async (tokens: number) => {
    const traits = { layer: 2, heads: [0, 1, 2, 3] };
    const { model, store } = open({ traits }, synthetic(longText(tokens), 6, 4));
    store.prefetch();
    await settle();
    return model.asked("block").map(({ layer }) => layer);
  };
  // 6 layers of 4 heads: 3,840,000 bytes of 400 tokens, 4,860,000 of 450.
  expect(await ahead(400)).toEqual([3, 1, 4, 0, 5]);
  expect(await ahead(450)).toEqual([3, 1]);
});

test("a pin is a token in Python and a word at word level", () => {
  const { store } = open();
  store.traits.token.value = 16;
  expect(store.pin.value).toEqual({ side: "from", index: 16 });
  store.traits.level.value = "word";
  expect(store.pin.value).toEqual({ side: "from", index: 15 });
  store.setPin({ side: "to", index: 16 });
  expect(store.traits.token.value).toBe(17);
  expect(store.traits.side.value).toBe("to");
  store.setPin(null);
  expect(store.traits.token.value).toBeNull();
});

test("exact rows are asked for once and kept", async () => {
  const { model, store } = open();
  const query: RowQuery = { layer: 0, heads: [0, 2], index: 3, side: "from" };
  expect(store.row(query)).toBeNull();
  await settle();
  const row = store.row(query)!;
  expect(row.n).toBe(19);
  expect(row.data).toHaveLength(38);
  expect(row.data.slice(0, 19).reduce((sum, w) => sum + w, 0)).toBeCloseTo(1, 5);
  expect(model.asked("row")).toHaveLength(1);
});

test("a row that the cache gave up is asked for again", async () => {
  const { model, store } = open({}, synthetic(longText(512)));
  const row = (index: number) => store.row({ layer: 0, heads: [0, 1, 2, 3], index, side: "from" });
  // 512 rows of 4 x 512 floats are more than the cache holds.
  for (let index = 0; index < 512; index++) row(index);
  await settle();
  expect(row(511)).not.toBeNull();
  expect(row(0)).toBeNull();
  await settle();
  expect(row(0)).not.toBeNull();
  expect(model.asked("row")).toHaveLength(513);
});

test("thumbnails wait for the first lines", async () => {
  const { model, store } = open();
  expect(store.grid()).toBeNull();
  await settle();
  expect(model.asked("grid")).toHaveLength(0);
  store.page.painted.value = true;
  store.grid();
  await settle();
  expect(model.asked("grid").map(({ layers }) => layers)).toEqual([[0, 1, 2]]);
  expect(store.grid()).toMatchObject({ rows: 19, columns: 19 });
});

test("without a head view thumbnails are asked for at once", async () => {
  const { store } = open({ traits: { views: ["grid"] } }, synthetic(longText(100), 2, 3));
  store.grid();
  await settle();
  expect(store.grid()).toMatchObject({ rows: 48, columns: 48 });
  expect(store.grid()!.data).toHaveLength(2 * 3 * 48 * 48);
});

test("of several texts the last one typed wins", async () => {
  vi.useFakeTimers();
  const { model, store } = open({
    delay: 10,
    retext: (text) => (text === "bad" ? "no such text" : synthetic(longText(text.length))),
  });
  void store.run("bad", null);
  void store.run("four", null);
  expect(store.page.busy.value).toBe(true);
  await vi.advanceTimersByTimeAsync(20);
  expect(store.page.busy.value).toBe(false);
  expect(store.page.error.value).toBeNull();
  expect(store.traits.text.value).toBe("four");
  expect(model.asked("text")).toHaveLength(2);
});

test("an error of a text is told in the kernel's words, and goes with the next one", async () => {
  const { store } = open({
    retext: (text) => (text === "" ? "The text is empty" : synthetic(longText(4))),
  });
  await store.run("", null);
  expect(store.page.error.value).toBe("The text is empty");
  await store.run("fine", null);
  expect(store.page.error.value).toBeNull();
});

test("while a scan holds the model the text waits, and says so", async () => {
  vi.useFakeTimers();
  const { model, store } = open({ retext: () => synthetic(longText(4)) });
  model.busy = 2;
  void store.run("later", null);
  await vi.advanceTimersByTimeAsync(10);
  expect(store.page.notice.value).toBe("The model is busy");
  expect(store.page.busy.value).toBe(true);
  await vi.advanceTimersByTimeAsync(1100);
  expect(model.asked("text")).toHaveLength(3);
  expect(store.page.busy.value).toBe(false);
  expect(store.page.notice.value).toBeNull();
});

test("a newer text replaces one that waits for the model", async () => {
  vi.useFakeTimers();
  const { model, store } = open({ retext: () => synthetic(longText(4)) });
  model.busy = 1;
  void store.run("first", null);
  await vi.advanceTimersByTimeAsync(10);
  void store.run("second", null);
  await vi.advanceTimersByTimeAsync(2000);
  expect(model.asked("text").map(({ text }) => text)).toEqual(["first", "second"]);
  expect(store.traits.text.value).toBe("second");
});

test("without a kernel the page says so, and asks again when one is heard", async () => {
  vi.useFakeTimers();
  const { model, store } = open({ dead: true });
  const stop = effect(() => {
    store.block(0, 0);
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(store.kernel.value).toBe("silent");
  await vi.advanceTimersByTimeAsync(30_000);
  model.dead = false;
  model.answer({ id: "to another page" });
  await vi.advanceTimersByTimeAsync(10);
  expect(store.kernel.value).toBe("live");
  expect(store.block(0, 0)).not.toBeNull();
  stop();
});

test("a text typed after a restart ends at once, and its end is told apart from a busy kernel", async () => {
  const { model, store } = open();
  model.closed = true;
  const run = store.run("typed", null);
  await run;
  expect(store.page.busy.value).toBe(false);
  expect(store.silence.value).toBe("closed");
  expect(store.kernel.value).toBe("silent");
  expect(store.page.error.value).toBeNull();
});

test("a kernel that was heard before and is silent now is busy", async () => {
  vi.useFakeTimers();
  const { model, store } = open();
  void store.run("first", null);
  await vi.advanceTimersByTimeAsync(10);
  model.dead = true;
  void store.run("second", null);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(store.silence.value).toBe("busy");
});

test("a text is not waited for longer than two minutes", async () => {
  vi.useFakeTimers();
  const { store } = open({ dead: true });
  void store.run("typed", null);
  await vi.advanceTimersByTimeAsync(119_000);
  expect(store.page.busy.value).toBe(true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(store.page.busy.value).toBe(false);
  expect(store.page.error.value).toContain("not answered for 2 minutes");
});

test("an error of a map is told once, not asked again and again", async () => {
  const { model, store } = open({ dead: true });
  const stop = effect(() => {
    store.block(0, 0);
  });
  await settle();
  model.answer({ id: model.sent[0]!.id, ok: false, error: "layer 0 is gone" });
  await settle();
  expect(store.page.error.value).toBe("layer 0 is gone");
  expect(model.asked("block")).toHaveLength(1);
  stop();
});

test("why a change was refused is said until the next change", async () => {
  const { model, store } = open();
  store.traits.layer.value = 99;
  await settle();
  model.fromKernel({ layer: 0 });
  model.answer({ id: null, ok: false, error: "layer must be from 0 to 2, not 99" });
  expect(store.page.error.value).toBe("layer must be from 0 to 2, not 99");
  store.traits.layer.value = 1;
  expect(store.page.error.value).toBe(null);
});

test("a store that is disposed leaves nothing on the model", () => {
  const { model, store } = open();
  store.dispose();
  expect(model.listeners()).toBe(0);
});

test("an answer that is not about the text outlives it, until what it follows changes", async () => {
  const nearest = (): [number, number, number][] => [[1, 1, 0.5]];
  const map = (texts: number) => ({ points: [], labels: [], categories: [""], texts });
  const model = new FakeModel(synthetic(storePair()), {
    nearest,
    traits: { mapped_heads: map(1) },
  });
  const store = new Store(model as never);
  const ask = () => store.answer({ kind: "nearest", layer: 0, head: 0 });
  ask();
  await vi.waitFor(() => expect(ask()?.status).toBe("ok"));
  model.fromKernel({ generation: 2, text: "Another text." });
  expect(ask()?.status).toBe("ok");
  expect(model.asked("nearest").length).toBe(1);
  model.fromKernel({ mapped_heads: map(2) });
  expect(ask()).toBeNull();
  await vi.waitFor(() => expect(ask()?.status).toBe("ok"));
  expect(model.asked("nearest").length).toBe(2);
  store.dispose();
});
