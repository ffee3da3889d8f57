/** Tokens as the running text that they came from: what stands between them, and which way it runs. */

/** What the layout of a text needs of its tokens, one entry a token. */
export interface TextTokens {
  label: readonly string[];
  segment: readonly number[];
  special: readonly number[];
  continuation: readonly number[];
}

/**
 * Whether a space stands before each token. Found in the texts themselves, so that "store." and 漢字 stay closed up;
 * a token that is not found there is set off by a space, unless it continues a word.
 */
export function spaces(tokens: TextTokens, texts: readonly (string | null)[]): boolean[] {
  const reached = texts.map(() => 0);
  return tokens.label.map((label, i) => {
    const apart = i > 0 && !tokens.continuation[i];
    const segment = tokens.segment[i]!;
    const text = texts[segment];
    if (
      i === 0 ||
      tokens.special[i] ||
      tokens.special[i - 1] ||
      segment !== tokens.segment[i - 1]
    ) {
      if (text && !tokens.special[i]) advance(text, segment, label);
      return apart;
    }
    if (!text) return apart;
    const before = reached[segment]!;
    const start = advance(text, segment, label);
    if (start < 0) return apart;
    return /\s/.test(text.slice(before, start));
  });

  function advance(text: string, segment: number, label: string): number {
    const from = reached[segment]!;
    const start = text.indexOf(label, from);
    // a far-off match is another token's; better a plain space here than to lose the place for good
    if (start < 0 || start - from > 24) return -1;
    reached[segment] = start + label.length;
    return start;
  }
}

const leftToRight =
  /\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic}|\p{Script=Han}|\p{Script=Hiragana}/u;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** The direction of a text: that of its first letter that has one, special tokens aside. */
export function direction(tokens: Pick<TextTokens, "label" | "special">): "ltr" | "rtl" {
  for (const [i, label] of tokens.label.entries()) {
    if (tokens.special[i]) continue;
    for (const char of label) {
      if (rightToLeft.test(char)) return "rtl";
      if (leftToRight.test(char)) return "ltr";
    }
  }
  return "ltr";
}
