import {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  signal,
  untracked,
} from "@preact/signals-core";
import { BoundedCache } from "../kernel/lru-cache";
import { Blocks, REPLY_LIMIT } from "../kernel/map-cache";
import { ANY_TEXT, FOLLOWS, type Query } from "../kernel/protocol";
import { type Answer, type Channel, type Settled, Wire } from "../kernel/rpc";
import { columnsOf, type Items, itemOfToken, itemsOf, tokenOfItem } from "./items";
import { createPage, type Page, type Place } from "./page-state";
import { type ScorePayload, type TraitModel, type TraitSignals, traitSignals } from "./traits";

export type { Items } from "./items";
export type { Page, Place } from "./page-state";
export type * from "./traits";

/** Small pictures of maps, `round(255 * sqrt(weight))`: [layer, head, rows, columns]. */
export interface Thumbnails {
  data: Uint8Array;
  rows: number;
  columns: number;
}

/** Exact weights, [head, n], for numbers on screen. */
export interface Row {
  data: Float32Array;
  n: number;
  byteLength: number;
}

export type RowQuery = {
  layer: number;
  heads: number[];
  /** An item (token or word) of the current level; null: what each item receives on average. */
  index: number | null;
  side: "from" | "to";
};

/**
 * "live": answers come. "silent": one is long overdue, or cannot come.
 * Where no kernel was ever heard, a page cannot tell a notebook without one from one whose kernel is busy.
 */
export type KernelState = "live" | "silent";
/** Why answers do not come: the channel is closed, a kernel once heard is at work, or none was ever heard. */
export type Silence = "closed" | "busy" | "unheard";

/** A pane: fills the container, follows the store, and takes all back when disposed. */
export type View = (container: HTMLElement, store: Store) => () => void;

const THUMBNAIL_SIDE = 48;
const ROW_CACHE = 4_000_000;
const ANSWER_CACHE = 2_000_000;
/** Milliseconds that a run of the model may take before the page stops waiting for it. */
const RUN_LIMIT = 120_000;
const UNANSWERED =
  "The model has not answered for 2 minutes. The kernel may be busy: press Enter in the text to try again.";

/** One model's state on the page: its traits, what only the page knows, and what the kernel is asked for. */
export class Store {
  readonly traits: TraitSignals;
  readonly page: Page = createPage();
  readonly items: { from: ReadonlySignal<Items>; to: ReadonlySignal<Items> };
  readonly kernel: ReadonlySignal<KernelState>;
  /** Null while answers come. */
  readonly silence: ReadonlySignal<Silence | null>;
  /** The pinned item (the trait `token`) at the current level. */
  readonly pin: ReadonlySignal<Place | null>;
  /** What is looked at: the hovered item, else the pinned one. */
  readonly focus: ReadonlySignal<Place | null>;
  /** The selected head, the last of `heads`; null when none is on. */
  readonly selected: ReadonlySignal<number | null>;
  /** Whether the text is a pair, so that the segment filter means something. */
  readonly paired: ReadonlySignal<boolean>;

  readonly #wire: Wire;
  readonly #blocks: Blocks;
  readonly #rows = new BoundedCache<Row>(ROW_CACHE);
  readonly #answers = new BoundedCache<Settled & { byteLength: number }>(ANSWER_CACHE);
  readonly #lasting = new BoundedCache<Settled & { byteLength: number }>(ANSWER_CACHE);
  readonly #ids = new WeakMap<object, number>();
  #nextId = 0;
  readonly #asked = new Set<string>();
  readonly #arrivals = signal(0);
  readonly #thumbnails = signal<Thumbnails | null>(null);
  readonly #scores = signal<ScorePayload[] | null>(null);
  readonly #stops: (() => void)[] = [];
  #run = 0;

  constructor(model: TraitModel & Channel) {
    const { traits, dispose } = traitSignals(model);
    this.#stops.push(dispose);
    this.traits = traits;
    const { meta, level, token, side, generation } = traits;
    this.items = {
      from: computed(() => itemsOf(meta.value.from, level.value)),
      to: computed(() => itemsOf(columnsOf(meta.value, "to"), level.value)),
    };
    this.pin = computed(() => {
      if (token.value === null) return null;
      const columns = columnsOf(meta.value, side.value);
      const index = itemOfToken(columns, level.value, token.value);
      return index === null ? null : { side: side.value, index };
    });
    this.focus = computed(() => this.page.hover.value ?? this.pin.value);
    this.selected = computed(() => traits.heads.value.at(-1) ?? null);
    this.paired = computed(() => meta.value.to === null && meta.value.from.segment.includes(1));

    /** Why the kernel did not take the last change; said until the next one. */
    let refused: string | null = null;
    this.#wire = new Wire(
      model,
      () => generation.peek(),
      (error) => {
        refused = error;
        this.#fail(error);
      },
    );
    this.silence = computed(() => {
      const { closed, silent, heard } = this.#wire;
      if (closed.value) return "closed";
      return silent.value ? (heard.value ? "busy" : "unheard") : null;
    });
    this.kernel = computed(() => (this.silence.value ? "silent" : "live"));
    this.#blocks = new Blocks({
      wire: this.#wire,
      level: () => level.peek(),
      area: () => this.#area(),
      key: () => `${generation.peek()}:${level.peek()}`,
      fail: (error) => this.#fail(error),
    });

    // A new text, kind or level: what was asked or known of the old one is no answer any more.
    let known = `${generation.peek()}:${level.peek()}`;
    this.#stops.push(
      effect(() => {
        const now = `${generation.value}:${level.value}`;
        if (now === known) return;
        const newText = !now.startsWith(`${known.split(":")[0]}:`);
        known = now;
        untracked(() => this.#forget(newText));
      }),
      effect(() => {
        for (const trait of Object.values(traits)) trait.value;
        if (refused !== null && this.page.error.peek() === refused) this.page.error.value = null;
        refused = null;
      }),
      // A kernel that was silent is heard again: let readers ask for what was given up.
      effect(() => {
        if (this.kernel.value === "live") untracked(() => this.#askAgain());
      }),
    );
  }

  /** Waits for the maps asked for until now. */
  settled(): Promise<void> {
    return this.#blocks.settled();
  }

  /** The map of one head, [from, to] as `round(255 * sqrt(weight))`; null until it is here. */
  block(layer: number, head: number): Uint8Array | null {
    return this.#blocks.read(layer, head);
  }

  /** Asks for the maps of the chosen heads at once, before what else this turn asks for. */
  askFirst(): void {
    const [layer, heads] = [this.traits.layer.value, this.traits.heads.value];
    untracked(() => this.#blocks.ask(layer, heads));
  }

  /** Every map as a thumbnail; null until they are here, which is after the first lines are drawn. */
  grid(): Thumbnails | null {
    const waits = this.traits.views.value.includes("head") && !this.page.painted.value;
    const { n_layers, n_heads } = this.traits.meta.value;
    const here = this.#thumbnails.value;
    this.#arrivals.value;
    if (here || waits || n_layers * n_heads === 0) return here;
    untracked(() => this.#once("grid", () => this.#askGrid(n_layers, n_heads)));
    return null;
  }

  /** Exact weights of one row or column for some heads; null until they are here. */
  row({ layer, heads, index, side }: RowQuery): Row | null {
    const { level, special, generation } = this.traits;
    const query = { layer, heads, index, side, level: level.value, special: special.value };
    const key = `row:${generation.value}:${JSON.stringify(query)}`;
    this.#arrivals.value;
    const here = this.#rows.get(key);
    if (here) return here;
    untracked(() =>
      this.#once(key, async () => {
        await this.settled();
        const answer = await this.#wire.request({ kind: "row", ...query });
        if (answer.status === "ok" && answer.data instanceof Float32Array) {
          const n = answer.shape.at(-1) ?? 0;
          this.#rows.set(key, { data: answer.data, n, byteLength: answer.data.byteLength });
          // Here now; once the cache has given it up it may be asked for again.
          this.#asked.delete(key);
        }
        return answer;
      }),
    );
    return null;
  }

  /** What can colour the layer grid: scores of this text, then what the person added. */
  scores(): ScorePayload[] | null {
    const own = this.traits.score.value;
    const wanted = [...this.traits.added_scores.value, ...(own ? [own.name] : [])];
    const here = this.#scores.value;
    this.#arrivals.value;
    const lists = (name: string) => here?.some((score) => score.name === name);
    if (here && wanted.every(lists)) return here;
    untracked(() =>
      this.#once(`scores:${wanted.join()}`, async () => {
        const answer = await this.#wire.request({ kind: "scores" });
        if (answer.status === "ok") this.#scores.value = answer.content.scores;
        return answer;
      }),
    );
    return own && !lists(own.name) ? [...(here ?? []), own] : here;
  }

  /**
   * The kernel's answer to a view's own question, also one that is an error; null until it is here. An answer that is
   * not about the text outlives it.
   */
  answer<Kind extends Query["kind"]>(query: Extract<Query, { kind: Kind }>): Settled<Kind> | null {
    const lasting = ANY_TEXT.includes(query.kind);
    const cache = lasting ? this.#lasting : this.#answers;
    const key = `${this.#about(query.kind)}:${JSON.stringify(query)}`;
    this.#arrivals.value;
    const here = cache.get(key);
    if (here) return here as Settled<Kind>;
    untracked(() =>
      this.#once(key, async () => {
        const answer = await this.#wire.request(query);
        if (answer.status !== "ok" && answer.status !== "error") return answer;
        const bytes = answer.status === "ok" ? (answer.data?.byteLength ?? 0) : 0;
        cache.set(key, { ...(answer as Settled), byteLength: bytes + 1_000 });
        // What was given up for newer answers may be asked again; errors are the view's to say.
        this.#asked.delete(key);
        return { status: "stale" };
      }),
    );
    return null;
  }

  /** What an answer of this kind is about: this text, or the traits that it follows. */
  #about(kind: Query["kind"]): string {
    if (!ANY_TEXT.includes(kind)) return `answer:${this.traits.generation.value}`;
    const ids = (FOLLOWS[kind] ?? []).map((name) => {
      const value = this.traits[name].value;
      if (value === null || typeof value !== "object") return value;
      if (!this.#ids.has(value)) this.#ids.set(value, this.#nextId++);
      return this.#ids.get(value);
    });
    return `lasting:${ids}`;
  }

  /** Colours the grid by each head's weight between the pinned item and another; pins it if none is. */
  async join(place: Place): Promise<void> {
    const pin = this.pin.peek();
    if (!pin) return this.setPin(place);
    const [from, to] = pin.side === "from" ? [pin.index, place.index] : [place.index, pin.index];
    const level = this.traits.level.peek();
    const answer = await this.#wire.request({ kind: "between", from, to, level, keep: true });
    if (answer.status === "error") this.#fail(answer.error);
    if (answer.status === "ok") this.traits.score.value = answer.content.score;
  }

  /** The code of the panes that are built apart; null when the kernel is silent. */
  async latePanes(): Promise<string | null> {
    const answer = await this.#wire.request({ kind: "panes" });
    if (answer.status === "error") throw answer.error;
    return answer.status === "ok" ? answer.content.code : null;
  }

  /** Pins an item (of the current level), or nothing. */
  setPin(place: Place | null): void {
    const { meta, level, token, side } = this.traits;
    batch(() => {
      if (!place) {
        token.value = null;
        return;
      }
      side.value = place.side;
      token.value = tokenOfItem(columnsOf(meta.value, place.side), level.value, place.index);
    });
  }

  /** Runs the model on another text; of several, the last typed wins. */
  run(text: string, pair: string | null): Promise<void> {
    return this.#work({ kind: "text", text, text_pair: pair });
  }

  /** Runs the model on an example's sentence, and turns every view to it. */
  open(sentence: number, dependent: number): Promise<void> {
    return this.#work({ kind: "open", sentence, dependent });
  }

  async #work(query: Query): Promise<void> {
    const run = ++this.#run;
    const { busy, error, notice } = this.page;
    batch(() => {
      busy.value = true;
      error.value = null;
    });
    const answer = await this.#wire.request(query, {
      patience: 15_000,
      limit: RUN_LIMIT,
      onBusy: (words) => {
        if (run !== this.#run) return false;
        notice.value = words;
        return true;
      },
    });
    if (run !== this.#run) return;
    batch(() => {
      busy.value = false;
      notice.value = null;
      if (answer.status === "error") error.value = answer.error;
      // that the channel is closed is said once, for all
      if (answer.status === "silent" && !this.#wire.closed.value) error.value = UNANSWERED;
    });
  }

  /** Asks for the same heads of other layers, once nothing else is under way: of all where that is little. */
  prefetch(): void {
    const { layer, heads, meta } = this.traits;
    const [at, { n_layers }] = [layer.peek(), meta.peek()];
    const bytes = n_layers * heads.peek().length * this.#area();
    const far = bytes <= REPLY_LIMIT ? n_layers : 1;
    const steps = range(1, far + 1).flatMap((step) => [at + step, at - step]);
    const layers = steps.filter((other) => other >= 0 && other < n_layers);
    this.#blocks.prefetch(layers, heads.peek());
  }

  dispose(): void {
    for (const stop of this.#stops) stop();
    this.#wire.dispose();
    this.#forget(true);
  }

  /** Cells of a map. */
  #area(): number {
    return this.items.from.value.size * this.items.to.value.size;
  }

  async #askGrid(layers: number, heads: number): Promise<Answer> {
    const level = this.traits.level.peek();
    const most = Math.max(1, Math.floor(REPLY_LIMIT / (heads * THUMBNAIL_SIDE ** 2)));
    const parts: Uint8Array[] = [];
    let last: Answer = { status: "stale" };
    for (let at = 0; at < layers; at += most) {
      const part = range(at, Math.min(layers, at + most));
      last = await this.#wire.request({ kind: "grid", layers: part, level });
      if (last.status !== "ok" || !(last.data instanceof Uint8Array)) return last;
      parts.push(last.data);
    }
    if (last.status !== "ok" || level !== this.traits.level.peek()) return last;
    const [rows = 0, columns = 0] = last.shape.slice(-2);
    const data = joined(parts);
    if (data.length !== layers * heads * rows * columns) {
      const shape = last.shape.join(" × ");
      return { status: "error", error: `Thumbnails of ${layers} layers came with shape ${shape}` };
    }
    this.#thumbnails.value = { data, rows, columns };
    return last;
  }

  /** Asks unless the same was asked; only silence allows another try. */
  #once(key: string, ask: () => Promise<Answer>): void {
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    void ask().then((answer) => {
      if (answer.status === "error") this.#fail(answer.error);
      else if (answer.status === "silent") this.#asked.delete(key);
      else this.#arrivals.value = this.#arrivals.peek() + 1;
    });
  }

  #fail(error: string): void {
    this.page.error.value = error;
  }

  #forget(newText: boolean): void {
    batch(() => {
      this.#wire.dropStale();
      this.#asked.clear();
      this.#thumbnails.value = null;
      this.page.hover.value = null;
      this.page.cell.value = null;
      if (newText) {
        this.#rows.clear();
        this.#answers.clear();
        this.page.error.value = null;
        this.#scores.value = null;
      }
      this.#blocks.reset(newText);
    });
  }

  #askAgain(): void {
    batch(() => {
      this.#arrivals.value = this.#arrivals.peek() + 1;
      this.#blocks.nudge();
    });
  }
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

function joined(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
