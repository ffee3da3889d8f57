import type { TokenColumns } from "../src/state/store";

/** Attention of one text: `weights` float32 [layer, head, from, to], rows summing to 1. */
export interface Attention {
  nLayers: number;
  nHeads: number;
  weights: Float32Array;
  tokens: TokenColumns;
}

/** The columns of words given as a list of texts, each a list of words, each a list of pieces. */
export function tokenColumns(texts: string[][][]): TokenColumns {
  const columns: TokenColumns = {
    label: [],
    text: [],
    word: [],
    segment: [],
    special: [],
    continuation: [],
    words: { label: [], segment: [], special: [] },
  };
  const add = (pieces: string[], segment: number, special: number) => {
    const word = columns.words.label.length;
    for (const [i, piece] of pieces.entries()) {
      columns.label.push(piece);
      columns.text.push(i > 0 ? `##${piece}` : piece);
      columns.word.push(word);
      columns.segment.push(segment);
      columns.special.push(special);
      columns.continuation.push(i > 0 ? 1 : 0);
    }
    columns.words.label.push(pieces.join(""));
    columns.words.segment.push(segment);
    columns.words.special.push(special);
  };
  add(["[CLS]"], 0, 1);
  for (const [segment, words] of texts.entries()) {
    for (const pieces of words) add(pieces, segment, 0);
    add(["[SEP]"], segment, 1);
  }
  return columns;
}

/** The pair of the tour: 19 tokens, one word of two pieces. */
export function storePair(): TokenColumns {
  return tokenColumns([
    [["I"], ["went"], ["to"], ["the"], ["store"], ["."]],
    [["At"], ["the"], ["store"], [","], ["I"], ["bought"], ["fresh"], ["straw", "berries"], ["."]],
  ]);
}

/** A single text of `n` tokens, specials included. */
export function longText(n: number): TokenColumns {
  const words = "The small lamp stood near the old window while rain fell slowly".split(" ");
  return tokenColumns([Array.from({ length: n - 2 }, (_, i) => [words[i % words.length]!])]);
}

/**
 * Attention with a known shape: head 0 attends to the next token, head 1 to the one before, head 2 to
 * the first, head 3 evenly, the others to a place and a spread of their own. Layers soften it.
 */
export function synthetic(tokens: TokenColumns, nLayers = 3, nHeads = 4): Attention {
  const n = tokens.label.length;
  const weights = new Float32Array(nLayers * nHeads * n * n);
  for (let layer = 0; layer < nLayers; layer++) {
    for (let head = 0; head < nHeads; head++) {
      for (let row = 0; row < n; row++) {
        const at = ((layer * nHeads + head) * n + row) * n;
        let sum = 0;
        for (let col = 0; col < n; col++) {
          const weight = wish(head, row, col, n) + 0.002 * (layer + 1);
          weights[at + col] = weight;
          sum += weight;
        }
        for (let col = 0; col < n; col++) weights[at + col]! /= sum;
      }
    }
  }
  return { nLayers, nHeads, weights, tokens };
}

function wish(head: number, row: number, col: number, n: number): number {
  if (head === 0) return col === Math.min(row + 1, n - 1) ? 1 : 0;
  if (head === 1) return col === Math.max(row - 1, 0) ? 1 : 0;
  if (head === 2) return col === 0 ? 1 : 0;
  if (head === 3) return 0.05;
  const place = (row * ((head % 5) + 1) + head * 3) % n;
  return Math.exp(-Math.abs(place - col) / (1 + (head % 4)));
}
