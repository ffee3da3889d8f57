// The fake kernel of these tests answers what the real one answered: tests/python/exchanges.py records it.
import { expect, test } from "vitest";
import type { Query } from "../../src/kernel/protocol";
import { decode, type ReplyContent } from "../../src/kernel/rpc";
import recorded from "../../test-support/exchanges.json";
import { FakeModel, type FakeOptions } from "../../test-support/fake-model";

const bytes = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

const attention = {
  nLayers: recorded.meta.n_layers,
  nHeads: recorded.meta.n_heads,
  weights: new Float32Array(bytes(recorded.weights).buffer),
  tokens: recorded.meta.from,
};

async function ask(query: Query, options: FakeOptions = {}) {
  const model = new FakeModel(attention, options);
  const reply = new Promise<[Record<string, unknown>, DataView[]]>((resolve) => {
    model.on("msg:custom", (content, buffers) => resolve([content, buffers]));
  });
  model.send({ id: "recorded", generation: 1, ...query });
  return reply;
}

const array = (reply: ReplyContent, buffer: DataView | undefined) =>
  decode(reply.dtype, reply.shape ?? [], buffer);

test.each(recorded.exchanges.filter(({ buffer }) => buffer).map((one) => [one.request.kind, one]))(
  "%s: the array of the real kernel",
  async (_, { request, reply, buffer }) => {
    const [content, buffers] = await ask(request as Query);
    expect(content).toEqual(reply);
    const real = bytes(buffer ?? "");
    const expected = array(reply as ReplyContent, new DataView(real.buffer));
    const found = array(content as unknown as ReplyContent, buffers[0]);
    const within = reply.dtype === "uint8" ? 1 : 1e-6;
    const off = [...(found ?? [])].map((value, at) => Math.abs(value - (expected?.[at] ?? 9)));
    expect(found?.length).toBe(expected?.length);
    expect(Math.max(...off)).toBeLessThanOrEqual(within);
  },
);

const fields = (value: object) => Object.keys(value).sort();

test.each([...recorded.exchanges, ...recorded.with_model].map((one) => [one.request.kind, one]))(
  "%s: the fields of the real kernel",
  async (_, { request, reply }) => {
    const examples = "examples" in reply ? () => reply.examples ?? [] : undefined;
    const nearest =
      "nearest" in reply ? () => reply.nearest as [number, number, number][] : undefined;
    const [content] = await ask(request as Query, {
      ...(examples && { examples }),
      ...(nearest && { nearest }),
    });
    expect(fields(content)).toEqual(fields(reply));
    if ("score" in reply)
      expect(fields(content.score as object)).toEqual(fields(reply.score as object));
    if ("scores" in reply) {
      const [first] = content.scores as object[];
      expect(fields(first!)).toEqual(fields(reply.scores![0]!));
    }
    if ("examples" in reply) {
      const { id, generation, ...own } = reply;
      expect(content).toMatchObject(own);
    }
  },
);

test("between: the values of the real kernel", async () => {
  for (const { request, reply } of recorded.exchanges) {
    if (request.kind !== "between" || !("score" in reply)) continue;
    const [content] = await ask(request as Query);
    const found = (content.score as { values: number[][] }).values.flat();
    const real = reply.score!.values.flat();
    for (const [at, value] of found.entries()) expect(value).toBeCloseTo(real[at]!, 5);
  }
});
