import { expect, test } from "vitest";
import { decimal, tick } from "../../src/ui/number-format";

test("small numbers have three decimals, larger ones three or four figures", () => {
  expect([0.0164, 1, 12.3456, 123.456, 5432.1].map(decimal)).toEqual([
    "0.016",
    "1.000",
    "12.35",
    "123.5",
    "5432",
  ]);
});

test("a missing number is said in words", () => {
  expect(decimal(null)).toBe("undefined");
  expect(decimal(Number.NaN)).toBe("undefined");
});

test("ticks have no empty decimals", () => {
  expect([0, 0.5, 2.5, 0.30000000000000004].map(tick)).toEqual(["0", "0.5", "2.5", "0.3"]);
});
