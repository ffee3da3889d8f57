import type { AnyModel } from "@anywidget/types";
import { batch, effect, type Signal, signal } from "@preact/signals-core";
import type { Side } from "../attention/decode";
import type { SegmentFilter } from "../attention/lines";
import type { Example, ScorePayload } from "../kernel/protocol";

export type { Side } from "../attention/decode";
export type { SegmentFilter } from "../attention/lines";
export type { Example, ScorePayload } from "../kernel/protocol";

export type Level = "token" | "word";
export type Special = "show" | "hide" | "renormalise";

export interface Words {
  label: string[];
  segment: number[];
  special: number[];
}

/** The tokens of one side, a column a property, one entry a token. */
export interface TokenColumns {
  label: string[];
  text: string[];
  word: number[];
  segment: number[];
  special: number[];
  continuation: number[];
  words: Words;
}

/** A label, how probable it is (null for a value), and every label of a classifier, best first. */
export interface Prediction {
  label: string;
  probability: number | null;
  ranked: [string, number | null][];
}

export interface Meta {
  model: string;
  dtype: string;
  n_layers: number;
  n_heads: number;
  kinds: string[];
  notes: string[];
  /** What the two boxes for a text are for, where it is not a text and perhaps a second. */
  texts?: [string, string];
  /** What a fine-tuned model says of the text. */
  prediction?: Prediction | null;
  from: TokenColumns;
  /** Null where both sides are the same text. */
  to: TokenColumns | null;
}

/** Heads as points: near where they behave alike. */
export interface MappedHeads {
  /** [layer][head] -> x and y, 0 to 1, y upwards. */
  points: [number, number][][];
  /** [layer][head] -> an index into `categories`. */
  labels: number[][];
  /** What heads do; the first is "" for those where nothing stands out. */
  categories: string[];
  /** How many texts the distances were summed over. */
  texts: number;
}

/** A table of relations: the treebank it was counted on, and its rows. */
export interface Probed {
  treebank: string;
  relations: { name: string; support: number }[];
  /** Whether heads were chosen on another treebank than this. */
  held_out: boolean;
}

/** The synced state of a view, by the names that Python uses. */
export interface Traits {
  layer: number;
  heads: number[];
  token: number | null;
  side: Side;
  segment_filter: SegmentFilter;
  level: Level;
  special: Special;
  min_weight: number;
  kind: string;
  /** "value": norms of weighted values are drawn in place of weights. */
  norm: "value" | null;
  text: string;
  text_pair: string | null;
  score: ScorePayload | null;
  /** Names of the scores that the person added to those of the text. */
  added_scores: string[];
  mapped_heads: MappedHeads | null;
  probed: Probed | null;
  /** The relation of `probed` that is shown. */
  relation: string | null;
  /** The word of the treebank whose sentence is open, as the selected head guesses it. */
  example: Example | null;
  views: string[];
  /** The code of the late panes, where the view shows no others; else "". */
  late: string;
  editable: boolean;
  generation: number;
  meta: Meta;
}

/** Names and what stands in for a trait that a saved notebook does not carry. */
const DEFAULTS: Traits = {
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
  text: "",
  text_pair: null,
  score: null,
  added_scores: [],
  mapped_heads: null,
  probed: null,
  relation: null,
  example: null,
  views: ["grid", "head", "token"],
  late: "",
  editable: true,
  generation: 0,
  meta: {
    model: "",
    dtype: "",
    n_layers: 0,
    n_heads: 0,
    kinds: [],
    notes: [],
    from: {
      label: [],
      text: [],
      word: [],
      segment: [],
      special: [],
      continuation: [],
      words: { label: [], segment: [], special: [] },
    },
    to: null,
  },
};

export type TraitName = keyof Traits;
export type TraitSignals = { readonly [Name in TraitName]: Signal<Traits[Name]> };

/** What the traits need of an anywidget model. */
export type TraitModel = Pick<AnyModel, "get" | "set" | "save_changes" | "on" | "off">;

/**
 * A signal for each trait, in step with the model both ways until `dispose`.
 *
 * Values set in one turn reach the kernel in one message.
 */
export function traitSignals(model: TraitModel): { traits: TraitSignals; dispose: () => void } {
  const names = Object.keys(DEFAULTS) as TraitName[];
  const read = (name: TraitName) => model.get(name) ?? DEFAULTS[name];
  const signals: Record<string, Signal<unknown>> = {};
  for (const name of names) signals[name] = signal(read(name));

  // One kernel message may change several traits but is announced trait by trait:
  // take all at once, so that no one sees a new text under an old generation.
  let writing = false;
  const take = () => {
    // Our own change, announced at once: of several set together the others are not written yet.
    if (writing) return;
    batch(() => {
      for (const name of names) {
        const value = read(name);
        if (!same(value, signals[name]!.peek())) signals[name]!.value = value;
      }
    });
  };

  let scheduled = false;
  const save = () => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      model.save_changes();
    });
  };
  const stops = names.map((name) =>
    effect(() => {
      const value = signals[name]!.value;
      if (same(value, read(name))) return;
      writing = true;
      model.set(name, value);
      writing = false;
      save();
    }),
  );
  for (const name of names) model.on(`change:${name}`, take);
  return {
    traits: signals as unknown as TraitSignals,
    dispose() {
      for (const stop of stops) stop();
      for (const name of names) model.off(`change:${name}`, take);
    },
  };
}

/** Equal, lists of numbers or names by their entries. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!Array.isArray(a) || !Array.isArray(b)) return false;
  return a.length === b.length && a.every((entry, i) => Object.is(entry, b[i]));
}
