import type {
  BetweenReply,
  ExamplesReply,
  InsideReply,
  NearestReply,
  PanesReply,
  Query,
  ScoresReply,
} from "../src/kernel/protocol";
import type { ReplyContent } from "../src/kernel/rpc";
import type { Example, Meta, ScorePayload, Traits } from "../src/state/store";
import type { Attention } from "./attention";
import { insideReply } from "./inside";

// biome-ignore lint/suspicious/noExplicitAny: as anywidget types its handlers
type Callback = (...args: any[]) => void;
type Asked = Query & { id: string; generation: number };
type AnyReply = ScoresReply &
  InsideReply &
  BetweenReply &
  NearestReply &
  PanesReply &
  ExamplesReply;

export interface FakeOptions {
  /** Milliseconds before each answer; 0 answers in a microtask. */
  delay?: number;
  /** Answers nothing, as a notebook without a kernel. */
  dead?: boolean;
  /** What a `text` request does: attention of the new text, or an error in words. */
  retext?: (text: string, pair: string | null) => Attention | string;
  scores?: ScorePayload[];
  /** What a family says that keeps its queries and keys to itself. */
  refusal?: string;
  /** The heads nearest to one, with their distances. */
  nearest?: (layer: number, head: number) => [number, number, number][];
  /** Later tokens are hidden in the scores of `inside`. */
  causal?: boolean;
  /** Words of a relation, before the filters; and what opening one of them does. */
  examples?: (relation: string, layer: number, head: number) => Example[];
  opened?: (sentence: number, dependent: number) => Partial<Traits>;
  /** The code of the panes that the page asks for when it wants one. */
  panes?: string;
  traits?: Partial<Traits>;
}

/** An anywidget model with a kernel behind it that knows one text's attention. */
export class FakeModel {
  readonly sent: Asked[] = [];
  /** Traits as last saved: what Python sees. */
  readonly saved: Record<string, unknown> = {};
  saves = 0;
  /** While above 0, each `text` request is answered busy and counts one down. */
  busy = 0;
  dead: boolean;
  /** As a comm after a restart of the kernel. */
  closed = false;
  delay: number;
  attention: Attention;
  widget_manager = {
    get_model: () => Promise.reject(new Error("no other models")) as Promise<never>,
  };
  readonly #options: FakeOptions;
  readonly #state: Record<string, unknown>;
  readonly #dirty = new Set<string>();
  readonly #coded = new WeakMap<Attention, Map<string, Codes>>();
  readonly #callbacks = new Map<string, Set<Callback>>();

  constructor(attention: Attention, options: FakeOptions = {}) {
    this.attention = attention;
    this.#options = options;
    this.delay = options.delay ?? 0;
    this.dead = options.dead ?? false;
    const traits: Traits = {
      layer: 0,
      heads: [0],
      token: null,
      side: "from",
      segment_filter: "all",
      level: "token",
      special: "show",
      min_weight: 0.02,
      kind: "self",
      norm: null,
      text: "I went to the store.",
      text_pair: "At the store, I bought fresh strawberries.",
      score: null,
      added_scores: [],
      mapped_heads: null,
      probed: null,
      relation: null,
      example: null,
      views: ["grid", "head", "token"],
      late: "",
      editable: true,
      generation: 1,
      meta: metaOf(attention),
      ...options.traits,
    };
    this.#state = traits as unknown as Record<string, unknown>;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as anywidget types it
  get(name: string): any {
    return this.#state[name];
  }

  set(name: string, value: unknown): void {
    this.#state[name] = value;
    this.#dirty.add(name);
    this.#emit(`change:${name}`);
  }

  save_changes(): void {
    this.saves += 1;
    for (const name of this.#dirty) this.saved[name] = this.#state[name];
    this.#dirty.clear();
  }

  on(event: string, callback: Callback): void {
    const callbacks = this.#callbacks.get(event) ?? new Set();
    this.#callbacks.set(event, callbacks.add(callback));
  }

  off(event?: string | null, callback?: Callback | null): void {
    if (event && callback) this.#callbacks.get(event)?.delete(callback);
    else if (event) this.#callbacks.delete(event);
    else this.#callbacks.clear();
  }

  listeners(): number {
    return [...this.#callbacks.values()].reduce((count, set) => count + set.size, 0);
  }

  /** What Python does: several traits in one message, then the announcements. */
  fromKernel(traits: Partial<Traits>): void {
    Object.assign(this.#state, traits);
    for (const name of Object.keys(traits)) this.#emit(`change:${name}`);
  }

  send(content: unknown): void {
    if (this.closed) throw new Error("Cannot send");
    const query = content as Asked;
    this.sent.push(query);
    if (this.dead) return;
    const reply = () => this.reply(query);
    if (this.delay > 0) setTimeout(reply, this.delay);
    else queueMicrotask(reply);
  }

  /** Of all that was asked, one kind. */
  asked<Kind extends Query["kind"]>(kind: Kind): Extract<Asked, { kind: Kind }>[] {
    return this.sent.filter((query) => query.kind === kind) as Extract<Asked, { kind: Kind }>[];
  }

  answer(content: Partial<ReplyContent & AnyReply>, data?: Uint8Array | Float32Array): void {
    const generation = this.#state.generation as number;
    const head = { ok: true, error: null, dtype: null, shape: null, generation, ...content };
    // Buffers arrive as views into a larger message.
    const bytes = data ? new Uint8Array(data.byteLength + 7) : null;
    if (data && bytes) bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 5);
    this.#emit("msg:custom", head, bytes ? [new DataView(bytes.buffer, 5, data!.byteLength)] : []);
  }

  reply(query: Asked): void {
    const { id } = query;
    const { nLayers, nHeads } = this.attention;
    if (query.kind === "block") {
      const maps = query.heads.map((head) => this.#codes(query.layer, head, query.level));
      const { rows, columns } = maps[0]!;
      const shape = [maps.length, rows, columns];
      this.answer({ id, dtype: "uint8", shape }, joined(maps));
    } else if (query.kind === "grid") {
      const pooled = query.layers.flatMap((layer) =>
        Array.from({ length: nHeads }, (_, head) =>
          pool(this.#codes(layer, head, query.level), 48),
        ),
      );
      const { rows, columns } = pooled[0]!;
      const shape = [query.layers.length, nHeads, rows, columns];
      this.answer({ id, dtype: "uint8", shape }, joined(pooled));
    } else if (query.kind === "row") {
      const rows = query.heads.map((head) => this.#row(query, head));
      const shape = [rows.length, rows[0]?.length ?? 0];
      this.answer({ id, dtype: "float32", shape }, concat(rows));
    } else if (query.kind === "scores") {
      this.answer({
        id,
        scores: this.#options.scores ?? [entropy(this.attention, nLayers, nHeads)],
      });
    } else if (query.kind === "inside") {
      this.#inside(query);
    } else if (query.kind === "nearest") {
      this.answer({ id, nearest: this.#options.nearest?.(query.layer, query.head) ?? [] });
    } else if (query.kind === "between") {
      this.answer({ id, score: this.#pair(query) });
    } else if (query.kind === "examples") {
      this.#examples(query);
    } else if (query.kind === "open") {
      const generation = (this.#state.generation as number) + 1;
      const opened = this.#options.opened?.(query.sentence, query.dependent);
      this.fromKernel({ ...opened, generation });
      this.answer({ id });
    } else if (query.kind === "panes") {
      this.answer({ id, code: this.#options.panes ?? "" });
    } else {
      this.#retext(query);
    }
  }

  #inside({ id, layer, head, index, side }: Asked & { kind: "inside" }): void {
    if (this.#options.refusal) {
      this.answer({ id, ok: false, error: this.#options.refusal });
      return;
    }
    const { rows, columns, weights } = this.#map(layer, head, "token");
    const own =
      side === "from"
        ? weights.slice(index * columns, (index + 1) * columns)
        : Float32Array.from({ length: rows }, (_, row) => weights[row * columns + index]!);
    const masked = this.#options.causal ? (token: number) => token > index : null;
    const { data, shape, content } = insideReply(index, side, own, masked);
    this.answer({ id, dtype: "float32", shape, ...content }, data);
  }

  #examples({ id, relation, layer, head, hit, distance, start }: Asked & { kind: "examples" }) {
    const every = this.#options.examples?.(relation, layer, head) ?? [];
    const right = (one: Example) => one.guess === one.head;
    const far = (one: Example) => one.head - one.dependent;
    const kept = every.filter(
      (one) =>
        (hit === "both" || right(one) === (hit === "hit")) &&
        (distance === null || far(one) === distance),
    );
    const distances = [...new Set(every.map(far))].sort((a, b) => a - b);
    this.answer({
      id,
      examples: kept.slice(start, start + 50),
      total: kept.length,
      right: every.filter(right).length,
      support: every.length,
      distances: distances.map((d) => [d, every.filter((one) => far(one) === d).length]),
      direction: "dependent->head",
    });
  }

  #pair({ from, to, level }: Asked & { kind: "between" }): ScorePayload {
    const { nLayers, nHeads } = this.attention;
    const values = Array.from({ length: nLayers }, (_, layer) =>
      Array.from({ length: nHeads }, (_, head) => {
        const { columns, weights } = this.#map(layer, head, level);
        return weights[from * columns + to]!;
      }),
    );
    return {
      name: `${from} -> ${to}`,
      unit: "share of attention",
      description: `Attention from ${from} to ${to}`,
      notable: "high",
      values,
      low: null,
      high: null,
      baseline: null,
      support: null,
      categories: [],
      pair: true,
    };
  }

  #retext({ id, text, text_pair }: Asked & { kind: "text" }): void {
    if (this.busy > 0) {
      this.busy -= 1;
      this.answer({ id, ok: false, busy: true, error: "The model is busy" });
      return;
    }
    const made = this.#options.retext?.(text, text_pair) ?? this.attention;
    if (typeof made === "string") {
      this.answer({ id, ok: false, error: made });
      return;
    }
    this.attention = made;
    const generation = (this.#state.generation as number) + 1;
    this.fromKernel({ text, text_pair, token: null, generation, meta: metaOf(made) });
    this.answer({ id });
  }

  #map(layer: number, head: number, level: string): Map2 {
    const { nHeads, weights, tokens } = this.attention;
    const n = tokens.label.length;
    const at = (layer * nHeads + head) * n * n;
    const map = { rows: n, columns: n, weights: weights.slice(at, at + n * n) };
    return level === "word" ? toWords(map, tokens.word, tokens.words.label.length) : map;
  }

  /** Kept once made: a real kernel codes on another thread, not on the page's time. */
  #codes(layer: number, head: number, level: string): Codes {
    const key = `${layer}:${head}:${level}`;
    const known = this.#coded.get(this.attention) ?? new Map<string, Codes>();
    this.#coded.set(this.attention, known);
    const here = known.get(key);
    if (here) return here;
    const { rows, columns, weights } = this.#map(layer, head, level);
    const made = { rows, columns, codes: encode(weights) };
    known.set(key, made);
    return made;
  }

  #row(query: Asked & { kind: "row" }, head: number): Float32Array {
    const { rows, columns, weights } = this.#map(query.layer, head, query.level);
    const { tokens } = this.attention;
    const special = query.level === "word" ? tokens.words.special : tokens.special;
    if (query.special === "renormalise") renormalise(weights, rows, columns, special);
    const { index, side } = query;
    if (index !== null && side === "from") {
      return weights.slice(index * columns, (index + 1) * columns);
    }
    if (index !== null) {
      return Float32Array.from({ length: rows }, (_, row) => weights[row * columns + index]!);
    }
    const received = new Float32Array(columns);
    for (let at = 0; at < weights.length; at++) received[at % columns]! += weights[at]! / rows;
    return received;
  }

  #emit(event: string, ...args: unknown[]): void {
    for (const callback of [...(this.#callbacks.get(event) ?? [])]) callback(...args);
  }
}

interface Codes {
  rows: number;
  columns: number;
  codes: Uint8Array;
}

interface Map2 {
  rows: number;
  columns: number;
  weights: Float32Array;
}

export function metaOf(attention: Attention): Meta {
  return {
    model: "all-MiniLM-L6-v2",
    dtype: "float32",
    n_layers: attention.nLayers,
    n_heads: attention.nHeads,
    kinds: ["self"],
    notes: [],
    from: attention.tokens,
    to: null,
  };
}

function encode(weights: Float32Array): Uint8Array {
  const codes = new Uint8Array(weights.length);
  for (let i = 0; i < codes.length; i++) codes[i] = Math.round(255 * Math.sqrt(weights[i]!));
  return codes;
}

function joined(maps: Codes[]): Uint8Array {
  const all = new Uint8Array(maps.reduce((size, { codes }) => size + codes.length, 0));
  let at = 0;
  for (const { codes } of maps) {
    all.set(codes, at);
    at += codes.length;
  }
  return all;
}

function concat(parts: Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Sum over the pieces attended to, mean over the pieces that attend. */
function toWords(map: Map2, word: number[], size: number): Map2 {
  const weights = new Float32Array(size * size);
  const pieces = new Float32Array(size);
  for (const w of word) pieces[w]! += 1;
  for (let row = 0; row < map.rows; row++) {
    for (let col = 0; col < map.columns; col++) {
      const at = word[row]! * size + word[col]!;
      weights[at]! += map.weights[row * map.columns + col]! / pieces[word[row]!]!;
    }
  }
  return { rows: size, columns: size, weights };
}

/** The largest of each part: the code grows with the weight. */
function pool(map: Codes, most: number): Codes {
  const rows = Math.min(most, map.rows);
  const columns = Math.min(most, map.columns);
  const codes = new Uint8Array(rows * columns);
  for (let row = 0; row < map.rows; row++) {
    const r = Math.floor((row * rows) / map.rows);
    for (let col = 0; col < map.columns; col++) {
      const at = r * columns + Math.floor((col * columns) / map.columns);
      const code = map.codes[row * map.columns + col]!;
      if (code > codes[at]!) codes[at] = code;
    }
  }
  return { rows, columns, codes };
}

function renormalise(weights: Float32Array, rows: number, columns: number, special: number[]) {
  for (let row = 0; row < rows; row++) {
    let left = 0;
    for (let col = 0; col < columns; col++)
      if (!special[col]) left += weights[row * columns + col]!;
    for (let col = 0; col < columns; col++) {
      const at = row * columns + col;
      weights[at] = special[col] || left === 0 ? 0 : weights[at]! / left;
    }
  }
}

function entropy({ weights, tokens }: Attention, nLayers: number, nHeads: number): ScorePayload {
  const n = tokens.label.length;
  const values = Array.from({ length: nLayers }, (_, layer) =>
    Array.from({ length: nHeads }, (_, head) => {
      const at = (layer * nHeads + head) * n * n;
      const map = weights.subarray(at, at + n * n);
      return map.reduce((sum, w) => (w > 0 ? sum - w * Math.log(w) : sum), 0) / n;
    }),
  );
  return {
    name: "entropy",
    unit: "nats",
    description: "How evenly a head spreads its attention",
    notable: "low",
    values,
    low: null,
    high: null,
    baseline: null,
    support: null,
    categories: [],
  };
}
