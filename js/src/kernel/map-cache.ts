import { type Signal, signal, untracked } from "@preact/signals-core";
import { BoundedCache } from "./lru-cache";
import type { Wire } from "./rpc";

/** The most that one reply may hold, in bytes. */
export const REPLY_LIMIT = 4_000_000;
/** What the page keeps: every map of a 12 x 12 model at 512 tokens takes 38 MB. */
const CACHE_LIMIT = 48_000_000;

/** The maps of one message, kept and given up together: they share its bytes. */
interface Pack {
  maps: Map<string, Uint8Array>;
  byteLength: number;
}

interface Context {
  wire: Wire;
  level(): "token" | "word";
  /** Rows times columns of a map now. */
  area(): number;
  /** Kept apart: maps of different texts and levels. */
  key(): string;
  fail(error: string): void;
}

/**
 * Attention maps as the kernel sends them, `round(255 * sqrt(weight))`, [from, to] row by row.
 *
 * Reading one inside an effect asks for it when it is absent and runs the effect again when it is here.
 */
export class Blocks {
  readonly #context: Context;
  readonly #packs = new BoundedCache<Pack>(CACHE_LIMIT);
  /** In which pack a map is, by its name; the pack may have been given up since. */
  readonly #packOf = new Map<string, string>();
  readonly #arrivals = new Map<number, Signal<number>>();
  readonly #asked = new Set<string>();
  readonly #wanted = new Map<number, Set<number>>();
  #flushing = false;
  #asking: Promise<unknown> = Promise.resolve();

  constructor(context: Context) {
    this.#context = context;
  }

  /** The map of one head, or null until it is here. */
  read(layer: number, head: number): Uint8Array | null {
    this.#arrival(layer).value;
    return untracked(() => this.#readNow(layer, head));
  }

  /** Asks for maps at once, before whatever else this turn does. */
  ask(layer: number, heads: readonly number[]): void {
    for (const head of heads) this.#readNow(layer, head);
    this.#send();
  }

  /** Asks for maps that may be wanted next, unless something is under way. */
  prefetch(layers: number[], heads: number[]): void {
    if (this.#asked.size > 0) return;
    untracked(() => {
      for (const layer of layers) for (const head of heads) this.#readNow(layer, head);
    });
  }

  /** Waits for the maps asked for in this turn and before: what is drawn first is asked for first. */
  async settled(): Promise<void> {
    await null;
    await this.#asking;
  }

  /** Forgets what is under way and, with `all`, what is here. */
  reset(all: boolean): void {
    if (all) {
      this.#packs.clear();
      this.#packOf.clear();
    }
    this.#asked.clear();
    this.#wanted.clear();
    this.nudge();
  }

  /** Lets readers look again, and so ask for what was given up. */
  nudge(): void {
    for (const arrival of this.#arrivals.values()) arrival.value = arrival.peek() + 1;
  }

  #arrival(layer: number): Signal<number> {
    let arrival = this.#arrivals.get(layer);
    if (!arrival) {
      arrival = signal(0);
      this.#arrivals.set(layer, arrival);
    }
    return arrival;
  }

  #readNow(layer: number, head: number): Uint8Array | null {
    const key = `${this.#context.key()}:${layer}:${head}`;
    const map = this.#packs.get(this.#packOf.get(key) ?? "")?.maps.get(key);
    if (map) return map;
    if (!this.#asked.has(key) && this.#context.area() > 0) {
      this.#asked.add(key);
      const heads = this.#wanted.get(layer) ?? new Set();
      this.#wanted.set(layer, heads.add(head));
      this.#flush();
    }
    return null;
  }

  /** Heads asked for in one turn travel together, as many as a reply may hold. */
  #flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#send();
    });
  }

  #send(): void {
    const area = this.#context.area();
    const asked = [...this.#wanted].flatMap(([layer, heads]) =>
      split([...heads], area).map((part) => this.#ask(layer, part)),
    );
    this.#wanted.clear();
    this.#asking = Promise.all([this.#asking, ...asked]);
  }

  async #ask(layer: number, heads: number[]): Promise<void> {
    const { wire, area, key, level, fail } = this.#context;
    const [prefix, size] = [key(), area()];
    const answer = await wire.request({ kind: "block", layer, heads, level: level() });
    // After a reset the same keys may be under way again: what belongs to another text or level is dropped.
    if (prefix !== key()) return;
    if (answer.status === "silent") {
      for (const head of heads) this.#asked.delete(`${prefix}:${layer}:${head}`);
      return;
    }
    if (answer.status === "error") return fail(answer.error);
    if (answer.status !== "ok" || !(answer.data instanceof Uint8Array)) return;
    if (answer.data.length !== heads.length * size) {
      return fail(`Maps of ${heads.length} heads came with shape ${answer.shape.join(" × ")}`);
    }
    const { data } = answer;
    const maps = new Map(
      heads.map((head, i) => [
        `${prefix}:${layer}:${head}`,
        data.subarray(i * size, (i + 1) * size),
      ]),
    );
    const pack = [...maps.keys()].join();
    this.#packs.set(pack, { maps, byteLength: data.byteLength });
    for (const name of maps.keys()) {
      this.#asked.delete(name);
      this.#packOf.set(name, pack);
    }
    const arrival = this.#arrival(layer);
    arrival.value = arrival.peek() + 1;
  }
}

/** Heads in groups whose maps fit one reply; a single head is never split. */
export function split(heads: number[], area: number, limit = REPLY_LIMIT): number[][] {
  const most = Math.max(1, Math.floor(limit / Math.max(1, area)));
  const groups: number[][] = [];
  for (let at = 0; at < heads.length; at += most) groups.push(heads.slice(at, at + most));
  return groups;
}
