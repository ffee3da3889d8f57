import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { decode, type Query, Wire } from "../../src/kernel/rpc";

type Sent = Query & { id: string; generation: number };

/** A channel whose other end is the test. */
function line() {
  const sent: Sent[] = [];
  let hear: (content: unknown, buffers: DataView[]) => void = () => {};
  let live = () => {};
  let open = true;
  return {
    sent,
    channel: {
      send: (content: unknown) => {
        // as a comm of Jupyter says it
        if (!open) throw new Error("Cannot send");
        sent.push(content as Sent);
      },
      on: (event: string, callback: typeof hear & typeof live) => {
        if (event === "msg:custom") hear = callback;
        else if (event === "comm_live_update") live = callback;
      },
      off: () => {},
    },
    shut: () => {
      open = false;
    },
    restart: () => live(),
    say: (content: object, buffers: DataView[] = []) => hear(content, buffers),
  };
}

const ok = { ok: true, error: null, dtype: null, shape: null };
const scores: Query = { kind: "scores" };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("two pages on one kernel never use the same id", () => {
  const { sent, channel } = line();
  const pages = [new Wire(channel as never, () => 1), new Wire(channel as never, () => 1)];
  for (const page of pages) for (let i = 0; i < 3; i++) void page.request(scores);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(6);
});

test("a reply settles the request with its id and no other", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const [first, second] = [wire.request(scores), wire.request(scores)];
  say({ ...ok, id: "someone else's", generation: 1 });
  say({ ...ok, id: sent[1]!.id, generation: 1, scores: ["b"] });
  say({ ...ok, id: sent[0]!.id, generation: 1, scores: ["a"] });
  expect(await first).toMatchObject({ status: "ok", content: { scores: ["a"] } });
  expect(await second).toMatchObject({ status: "ok", content: { scores: ["b"] } });
});

test("an answer about a text that is gone is stale, before and after it comes", async () => {
  const { sent, channel, say } = line();
  let generation = 1;
  const wire = new Wire(channel as never, () => generation);
  const late = wire.request(scores);
  const dropped = wire.request(scores);
  generation = 2;
  say({ ...ok, id: sent[0]!.id, generation: 1 });
  wire.dropStale();
  expect(await late).toEqual({ status: "stale" });
  expect(await dropped).toEqual({ status: "stale" });
});

test("an array of a newer text than the page shows is dropped too", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores);
  const bytes = new DataView(new ArrayBuffer(1));
  say({ ...ok, id: sent[0]!.id, generation: 2, dtype: "uint8", shape: [1] }, [bytes]);
  expect(await answer).toEqual({ status: "stale" });
});

test("an error in the kernel comes as words", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores);
  say({ ...ok, id: sent[0]!.id, ok: false, error: "layer 9 of 6", generation: 1 });
  expect(await answer).toEqual({ status: "error", error: "layer 9 of 6" });
});

test("silence is told after the patience, and over at the first word", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores, { patience: 100, limit: 1000 });
  vi.advanceTimersByTime(99);
  expect(wire.silent.value).toBe(false);
  vi.advanceTimersByTime(1);
  expect(wire.silent.value).toBe(true);
  say({ ...ok, id: sent[0]!.id, generation: 1 });
  expect(wire.silent.value).toBe(false);
  expect(await answer).toMatchObject({ status: "ok" });
});

test("a request that is never answered ends as silent", async () => {
  const { channel } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores, { patience: 100, limit: 1000 });
  vi.advanceTimersByTime(1000);
  expect(await answer).toEqual({ status: "silent" });
});

test("a closed channel is noticed at the first request, and ends it", async () => {
  const { channel, shut } = line();
  const wire = new Wire(channel as never, () => 1);
  shut();
  expect(wire.closed.value).toBe(false);
  expect(await wire.request(scores)).toEqual({ status: "silent" });
  expect(wire.closed.value).toBe(true);
});

test("a restart ends what was asked before, and a word heard later opens the channel again", async () => {
  const { channel, restart, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores);
  restart();
  expect(await answer).toEqual({ status: "silent" });
  expect(wire.closed.value).toBe(true);
  say({ ...ok, id: "another", generation: 1 });
  expect(wire.closed.value).toBe(false);
});

test("a busy model is asked again after half a second", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const heard: string[] = [];
  const answer = wire.request(scores, {
    onBusy: (words) => {
      heard.push(words);
      return true;
    },
  });
  const busy = { ...ok, ok: false, busy: true, error: "The model is busy", generation: 1 };
  say({ ...busy, id: sent[0]!.id });
  vi.advanceTimersByTime(499);
  expect(sent).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(sent).toHaveLength(2);
  expect(heard[0]).toBe("The model is busy");
  say({ ...ok, id: sent[1]!.id, generation: 1 });
  expect(await answer).toMatchObject({ status: "ok" });
});

test("a busy model is not asked again for what nobody wants any more", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores, { onBusy: () => false });
  say({ ...ok, ok: false, busy: true, id: sent[0]!.id, generation: 1 });
  vi.advanceTimersByTime(5000);
  expect(sent).toHaveLength(1);
  expect(await answer).toEqual({ status: "stale" });
});

test("a trait that the kernel refuses is told in its words", () => {
  const { channel, say } = line();
  const told: string[] = [];
  new Wire(
    channel as never,
    () => 1,
    (error) => told.push(error),
  );
  say({ ...ok, id: null, ok: false, error: "layer must be from 0 to 5, not 99", generation: 1 });
  say({ ...ok, id: "to another page", ok: false, error: "not ours", generation: 1 });
  expect(told).toEqual(["layer must be from 0 to 5, not 99"]);
});

test("bytes are read from where they lie in the message", () => {
  const message = Uint8Array.of(9, 9, 9, 1, 2, 3, 4, 9);
  expect(decode("uint8", [2, 2], new DataView(message.buffer, 3, 4))).toEqual(
    Uint8Array.of(1, 2, 3, 4),
  );
});

test("floats are read from an odd place too", () => {
  const message = new Uint8Array(5 + 8);
  message.set(new Uint8Array(Float32Array.of(0.25, -3).buffer), 5);
  expect(decode("float32", [2], new DataView(message.buffer, 5, 8))).toEqual(
    Float32Array.of(0.25, -3),
  );
});

test("an array that does not fit its shape is an error with the shape", async () => {
  const { sent, channel, say } = line();
  const wire = new Wire(channel as never, () => 1);
  const answer = wire.request(scores);
  const bytes = new DataView(new ArrayBuffer(5));
  say({ ...ok, id: sent[0]!.id, generation: 1, dtype: "uint8", shape: [2, 3] }, [bytes]);
  expect(await answer).toEqual({
    status: "error",
    error: "The kernel's reply holds no uint8 array of shape 2 × 3",
  });
});
