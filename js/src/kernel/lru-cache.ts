/** Arrays by key, the least recently used given up first once their bytes pass the bound. */
export class BoundedCache<Value extends { byteLength: number }> {
  readonly #bound: number;
  readonly #held = new Map<string, Value>();
  #bytes = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Value | undefined {
    const value = this.#held.get(key);
    if (value) {
      this.#held.delete(key);
      this.#held.set(key, value);
    }
    return value;
  }

  has(key: string): boolean {
    return this.#held.has(key);
  }

  set(key: string, value: Value): void {
    this.#drop(key);
    this.#held.set(key, value);
    this.#bytes += value.byteLength;
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bound || oldest === key) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#held.clear();
    this.#bytes = 0;
  }

  #drop(key: string): void {
    const value = this.#held.get(key);
    if (!value) return;
    this.#held.delete(key);
    this.#bytes -= value.byteLength;
  }
}
