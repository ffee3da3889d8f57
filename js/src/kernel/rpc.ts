import type { AnyModel } from "@anywidget/types";
import { batch, type Signal, signal } from "@preact/signals-core";
import { ANY_TEXT, type Query, type Replies } from "./protocol";

export type { Query } from "./protocol";

/** What the wire needs of an anywidget model: custom messages, both ways. */
export type Channel = Pick<AnyModel, "send" | "on" | "off">;

/** The head of a reply; what a kind of request returns besides (`scores`) rides along. */
export interface ReplyContent {
  /** Null: an answer to no request, but to a trait that the kernel refused. */
  id: string | null;
  ok: boolean;
  error: string | null;
  busy?: boolean;
  dtype: "uint8" | "float32" | null;
  shape: number[] | null;
  generation: number;
}

/** What became of a request: errors are values, so that no view needs a try. */
export type Answer<Kind extends Query["kind"] = Query["kind"]> =
  | {
      status: "ok";
      data: Uint8Array | Float32Array | null;
      shape: number[];
      content: ReplyContent & Replies[Kind];
    }
  /** The text changed meanwhile: the answer, if any, is about another text. */
  | { status: "stale" }
  | { status: "silent" }
  | { status: "error"; error: string };

export type Settled<Kind extends Query["kind"] = Query["kind"]> = Extract<
  Answer<Kind>,
  { status: "ok" | "error" }
>;

export interface RequestOptions {
  /** Milliseconds without a reply after which the person is told that no kernel answers. */
  patience?: number;
  /** Milliseconds after which the request is given up, to be asked again when the kernel is heard. */
  limit?: number;
  /** Called when the model is busy, with the kernel's words; false gives the request up. */
  onBusy?: (words: string) => boolean;
}

interface Pending {
  generation: number;
  settle(answer: Answer): void;
  retry(words: string): void;
}

const PATIENCE = 4_000;
const LIMIT = 30_000;
const BUSY_PAUSE = 500;

/**
 * All talk with the kernel that is not a trait: numbered requests and their replies.
 *
 * Every page on a kernel hears every reply, so ids carry a random prefix of this page.
 */
export class Wire {
  /** True while a request has waited longer than its patience and nothing was heard since. */
  readonly silent: Signal<boolean> = signal(false);
  /** True once the channel is closed, as by a restart of the kernel, until something is heard again. */
  readonly closed: Signal<boolean> = signal(false);
  /** Whether this page ever heard the kernel. */
  readonly heard: Signal<boolean> = signal(false);
  readonly #channel: Channel;
  readonly #generation: () => number;
  readonly #refused: (error: string) => void;
  readonly #prefix = randomPrefix();
  readonly #pending = new Map<string, Pending>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #count = 0;

  /** `generation`: that of the text now on the page; `refused` hears why a trait was not taken. */
  constructor(
    channel: Channel,
    generation: () => number,
    refused: (error: string) => void = () => {},
  ) {
    this.#channel = channel;
    this.#generation = generation;
    this.#refused = refused;
    channel.on("msg:custom", this.#receive);
    // ipywidgets' word for a kernel that was let go; a restart shows at the next request
    channel.on("comm_live_update", this.#close);
  }

  request<Kind extends Query["kind"]>(
    query: Extract<Query, { kind: Kind }>,
    options: RequestOptions = {},
  ): Promise<Answer<Kind>> {
    // The reply to a request is of its kind: the kernel's protocol says so.
    return new Promise((resolve) =>
      this.#send(query, options, resolve as (answer: Answer) => void),
    );
  }

  /** Settles as stale all that was asked of a text that is gone. */
  dropStale(): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.generation !== this.#generation()) pending.settle({ status: "stale" });
    }
  }

  dispose(): void {
    this.#channel.off("msg:custom", this.#receive);
    this.#channel.off("comm_live_update", this.#close);
    for (const pending of [...this.#pending.values()]) pending.settle({ status: "stale" });
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #send(query: Query, options: RequestOptions, resolve: (answer: Answer) => void): void {
    const id = `${this.#prefix}-${this.#count++}`;
    const generation = ANY_TEXT.includes(query.kind) ? Number.NaN : this.#generation();
    const waiting = this.#after(options.patience ?? PATIENCE, () => {
      this.silent.value = true;
    });
    const limit = options.limit ?? LIMIT;
    const giveUp =
      limit === Number.POSITIVE_INFINITY
        ? undefined
        : this.#after(limit, () => finish({ status: "silent" }));
    const leave = () => {
      this.#clear(waiting);
      this.#clear(giveUp);
      this.#pending.delete(id);
    };
    const finish = (answer: Answer) => {
      leave();
      resolve(answer);
    };
    const retry = (words: string) => {
      leave();
      if (options.onBusy?.(words) === false) return resolve({ status: "stale" });
      this.#after(BUSY_PAUSE, () => {
        if (options.onBusy?.(words) === false) resolve({ status: "stale" });
        else this.#send(query, options, resolve);
      });
    };
    this.#pending.set(id, { generation, settle: finish, retry });
    try {
      this.#channel.send({ id, generation: this.#generation(), ...query });
    } catch {
      // "Cannot send": there is no channel any more
      this.#close();
    }
  }

  readonly #close = (): void => {
    this.closed.value = true;
    for (const pending of [...this.#pending.values()]) pending.settle({ status: "silent" });
  };

  readonly #receive = (
    content: ReplyContent & Replies[Query["kind"]],
    buffers: ArrayLike<DataView> = [],
  ): void => {
    const { id, error } = content ?? {};
    const pending = this.#pending.get(id ?? "");
    batch(() => {
      this.silent.value = false;
      this.closed.value = false;
      this.heard.value = true;
    });
    if (id === null && error) this.#refused(error);
    if (!pending) return;
    if (content.busy) pending.retry(content.error ?? "The model is busy");
    else pending.settle(judge(content, buffers[0], pending.generation, this.#generation()));
  };

  #after(ms: number, act: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  #clear(timer: ReturnType<typeof setTimeout> | undefined): void {
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

/** What a reply means for who asked about the text `about` (NaN: about none) when the page shows `now`. */
function judge(
  content: ReplyContent & Replies[Query["kind"]],
  buffer: DataView | undefined,
  about: number,
  now: number,
): Answer {
  const { ok, error, dtype, shape, generation } = content;
  if (!Number.isNaN(about) && about !== now) return { status: "stale" };
  if (!ok) return { status: "error", error: error ?? "The kernel gave no reason" };
  if (!shape) return { status: "ok", data: null, shape: [], content };
  if (generation !== now) return { status: "stale" };
  const data = decode(dtype, shape, buffer);
  if (data) return { status: "ok", data, shape, content };
  const wanted = `${dtype} array of shape ${shape.join(" × ")}`;
  return { status: "error", error: `The kernel's reply holds no ${wanted}` };
}

/** The array that a reply's buffer holds; null when the buffer does not fit its shape. */
export function decode(
  dtype: string | null,
  shape: number[],
  buffer: DataView | undefined,
): Uint8Array | Float32Array | null {
  if (!buffer) return null;
  const size = shape.reduce((product, n) => product * n, 1);
  const { buffer: bytes, byteOffset, byteLength } = buffer;
  if (dtype === "uint8" && byteLength === size) return new Uint8Array(bytes, byteOffset, size);
  if (dtype === "float32" && byteLength === size * 4) {
    // A view into a larger message may start anywhere; floats must start at a multiple of 4.
    if (byteOffset % 4 === 0) return new Float32Array(bytes, byteOffset, size);
    return new Float32Array(bytes.slice(byteOffset, byteOffset + byteLength));
  }
  return null;
}

function randomPrefix(): string {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return Array.from(words, (word) => word.toString(36)).join("");
}
