import type { Level, Meta, TokenColumns } from "./traits";

/** What one side shows at the current level: tokens or words, a column a property. */
export interface Items {
  size: number;
  label: string[];
  /** The raw pieces, for tooltips. */
  text: string[];
  segment: number[];
  special: number[];
  /** 1 where a token continues the word of the token before. */
  continuation: number[];
}

export function itemsOf(columns: TokenColumns, level: Level): Items {
  if (level === "token") {
    const { label, text, segment, special, continuation } = columns;
    return { size: label.length, label, text, segment, special, continuation };
  }
  const { label, segment, special } = columns.words;
  return {
    size: label.length,
    label,
    text: label,
    segment,
    special,
    continuation: new Array<number>(label.length).fill(0),
  };
}

/** The columns of one side; where both sides are the same text, "to" is "from"../. */
export function columnsOf(meta: Meta, side: "from" | "to"): TokenColumns {
  return side === "to" ? (meta.to ?? meta.from) : meta.from;
}

/** The item that shows a token: itself, or its word. */
export function itemOfToken(columns: TokenColumns, level: Level, token: number): number | null {
  const item = level === "token" ? token : columns.word[token];
  const size = level === "token" ? columns.label.length : columns.words.label.length;
  return item !== undefined && item >= 0 && item < size ? item : null;
}

/** The token that stands for an item: itself, or the first of its word. */
export function tokenOfItem(columns: TokenColumns, level: Level, item: number): number | null {
  if (level === "token") return item < columns.label.length ? item : null;
  const token = columns.word.indexOf(item);
  return token < 0 ? null : token;
}
