import { expect, test } from "vitest";
import { BoundedCache } from "../../src/kernel/lru-cache";
import { split } from "../../src/kernel/map-cache";

const bytes = (n: number) => new Uint8Array(n);

test("the least recently used goes first once the bound is passed", () => {
  const cache = new BoundedCache<Uint8Array>(10);
  cache.set("a", bytes(4));
  cache.set("b", bytes(4));
  cache.get("a");
  cache.set("c", bytes(4));
  expect(["a", "b", "c"].map((key) => cache.has(key))).toEqual([true, false, true]);
  expect(cache.bytes).toBe(8);
});

test("one entry larger than the bound is kept while it is the newest", () => {
  const cache = new BoundedCache<Uint8Array>(10);
  cache.set("a", bytes(4));
  cache.set("big", bytes(40));
  expect(cache.has("big")).toBe(true);
  expect(cache.has("a")).toBe(false);
});

test("setting a key again counts its bytes once", () => {
  const cache = new BoundedCache<Uint8Array>(100);
  cache.set("a", bytes(40));
  cache.set("a", bytes(10));
  expect(cache.bytes).toBe(10);
  cache.clear();
  expect(cache.bytes).toBe(0);
});

test("heads travel together as far as 4 MB go", () => {
  const twelve = Array.from({ length: 12 }, (_, head) => head);
  // 512 tokens: 262,144 bytes a head, 3.1 MB for twelve.
  expect(split(twelve, 512 * 512)).toEqual([twelve]);
  // 1024 tokens: 1 MB a head, so three at a time.
  expect(split(twelve, 1024 * 1024).map((part) => part.length)).toEqual([3, 3, 3, 3]);
  // 2500 tokens: a head is over the limit by itself, and cannot be split.
  expect(split([4, 7], 2500 * 2500)).toEqual([[4], [7]]);
});
