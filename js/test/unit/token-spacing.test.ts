import { expect, test } from "vitest";
import { direction, spaces } from "../../src/ui/token-spacing";

function tokens(
  label: string[],
  more: { special?: number[]; segment?: number[]; continuation?: number[] } = {},
) {
  const none = label.map(() => 0);
  return { label, special: none, segment: none, continuation: none, ...more };
}

test("punctuation stays closed up as in the text", () => {
  const row = tokens(["[CLS]", "I", "went", ".", "[SEP]"], { special: [1, 0, 0, 0, 1] });
  expect(spaces(row, ["I went.", null])).toEqual([false, true, true, false, true]);
});

test("pieces of a word and characters without spaces join", () => {
  const row = tokens(["straw", "berries", "漢", "字"], { continuation: [0, 1, 0, 0] });
  expect(spaces(row, ["strawberries 漢字"])).toEqual([false, false, true, false]);
});

test("the second text is followed on its own", () => {
  const row = tokens(["a", "b", "a", "!"], { segment: [0, 0, 1, 1] });
  expect(spaces(row, ["a b", "a!"])).toEqual([false, true, true, false]);
});

test("a token that the text does not hold is set off by a space and loses no place", () => {
  const row = tokens(["un", "▁x", "so", "."], { continuation: [0, 0, 0, 0] });
  expect(spaces(row, ["un y so."])).toEqual([false, true, true, false]);
});

test("words without a text are set apart", () => {
  expect(spaces(tokens(["a", "b"]), [null])).toEqual([false, true]);
});

test("direction follows the first letter, special tokens aside", () => {
  expect(direction(tokens(["[CLS]", "«", "שלום", "ok"], { special: [1, 0, 0, 0] }))).toBe("rtl");
  expect(direction(tokens(["[CLS]", "ok", "שלום"], { special: [1, 0, 0] }))).toBe("ltr");
  expect(direction(tokens(["12", "漢字"]))).toBe("ltr");
});
