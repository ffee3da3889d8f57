import type { Items, Place, Side } from "../../state/store";
import { element } from "../../ui/element";

/** Where items stand on screen: `place[i]` is the row of item i, -1 where it is not shown. */
export interface Placement {
  place: Int32Array;
  rows: number;
}

export function placeItems(items: Items, hideSpecial: boolean): Placement {
  const place = new Int32Array(items.size);
  let rows = 0;
  for (let i = 0; i < items.size; i++) place[i] = hideSpecial && items.special[i] ? -1 : rows++;
  return { place, rows };
}

/** What a person reads where the original text has nothing to show. */
function shown(label: string): string {
  return label.trim() === "" ? "␣" : label;
}

interface Handlers {
  onHover(place: Place | null): void;
  /** With the Shift key (`join`) or without. */
  onPin(place: Place, join: boolean): void;
  onEscape(): void;
}

/** The text twice, as two lists of tokens: "from" on the left, "to" on the right. */
export class Columns {
  readonly from: HTMLElement;
  readonly to: HTMLElement;
  readonly #tokens: Record<Side, (HTMLElement | null)[]> = { from: [], to: [] };
  readonly #handlers: Handlers;
  #reachable: HTMLElement | null = null;
  #focused: HTMLElement | null = null;
  #pinned: HTMLElement | null = null;

  constructor(handlers: Handlers, signal: AbortSignal) {
    this.#handlers = handlers;
    this.from = column("from", "Tokens that attend");
    this.to = column("to", "Tokens attended to");
    for (const list of [this.from, this.to]) {
      const on = <Name extends keyof HTMLElementEventMap>(
        name: Name,
        act: (event: HTMLElementEventMap[Name]) => void,
      ) => list.addEventListener(name, act, { signal });
      on("pointerover", ({ target }) => this.#hover(target));
      on("pointerleave", () => handlers.onHover(null));
      on("focusin", ({ target }) => this.#hover(target));
      on("focusout", () => handlers.onHover(null));
      on("click", ({ target, shiftKey }) => {
        const place = placeOf(target);
        if (place) handlers.onPin(place, shiftKey);
      });
      on("mousedown", (event) => {
        if (event.shiftKey) event.preventDefault();
      });
      on("keydown", (event) => this.#key(event));
    }
  }

  /** Shows other items. */
  build(side: Side, items: Items, { place }: Placement): void {
    const list = side === "from" ? this.from : this.to;
    const made: (HTMLElement | null)[] = [];
    const shownItems: HTMLElement[] = [];
    const template = element("div", {
      class: "bl-token",
      role: "option",
      dir: "auto",
      tabindex: -1,
      "aria-selected": "false",
      "data-side": side,
    });
    for (let i = 0; i < items.size; i++) {
      if (place[i]! < 0) {
        made.push(null);
        continue;
      }
      const label = items.label[i]!;
      const token = template.cloneNode() as HTMLElement;
      token.dataset.index = String(i);
      token.textContent = shown(label);
      if (items.special[i]) token.dataset.special = "";
      if (i > 0 && items.segment[i] !== items.segment[i - 1]) token.dataset.begins = "";
      if (items.continuation[i]) token.dataset.joined = "";
      if (items.text[i] !== label) token.title = items.text[i]!;
      made.push(token);
      shownItems.push(token);
    }
    list.dataset.widest = widest(items.label).map(shown).join("\n");
    list.replaceChildren(...inChunks(shownItems));
    this.#tokens[side] = made;
    this.#reachable = null;
    this.#focused = null;
    this.#pinned = null;
    this.#reach(this.#tokens.from.find((token) => token) ?? null);
  }

  /** Tokens that the segment filter leaves out are drawn faint. */
  outside(side: Side, places: Int32Array): void {
    for (const [i, token] of this.#tokens[side].entries()) {
      token?.toggleAttribute("data-outside", places[i]! < 0);
    }
  }

  mark(focus: Place | null, pin: Place | null): void {
    const focused = focus && this.#at(focus);
    if (focused !== this.#focused) {
      this.#focused?.removeAttribute("data-focus");
      focused?.setAttribute("data-focus", "");
      this.#focused = focused;
    }
    const pinned = pin && this.#at(pin);
    if (pinned !== this.#pinned) {
      this.#pinned?.setAttribute("aria-selected", "false");
      pinned?.setAttribute("aria-selected", "true");
      this.#pinned = pinned;
      if (pinned) this.#reach(pinned);
    }
  }

  #at({ side, index }: Place): HTMLElement | null {
    return this.#tokens[side][index] ?? null;
  }

  /** The one token that the Tab key reaches. */
  #reach(token: HTMLElement | null): void {
    if (this.#reachable) this.#reachable.tabIndex = -1;
    if (token) token.tabIndex = 0;
    this.#reachable = token;
  }

  #hover(target: EventTarget | null): void {
    const place = placeOf(target);
    if (place) this.#handlers.onHover(place);
  }

  #key(event: KeyboardEvent): void {
    const place = placeOf(event.target);
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.#nextOf(place, event.key);
    if (next) {
      this.#reach(next);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ")
      this.#handlers.onPin(place, event.shiftKey);
    else if (event.key === "Escape") this.#handlers.onEscape();
    else return;
    event.preventDefault();
  }

  #nextOf({ side, index }: Place, key: string): HTMLElement | null {
    const tokens = this.#tokens[side];
    if (key === "ArrowDown") return tokens.slice(index + 1).find((token) => token) ?? null;
    if (key === "ArrowUp") return tokens.slice(0, index).findLast((token) => token) ?? null;
    if (key === "Home") return tokens.find((token) => token) ?? null;
    if (key === "End") return tokens.findLast((token) => token) ?? null;
    const other = key === "ArrowRight" ? "to" : key === "ArrowLeft" ? "from" : side;
    if (other === side) return null;
    const across = this.#tokens[other];
    return across[Math.min(index, across.length - 1)] ?? across.find((token) => token) ?? null;
  }
}

/** Rows that are laid out together, once they come near the screen. */
const CHUNK = 32;
/** How many of the longest labels give a column its width. */
const WIDEST = 6;

/** Tokens in boxes that the browser passes over while they are out of sight; what hangs together stays so. */
function inChunks(tokens: readonly HTMLElement[]): HTMLElement[] {
  const chunks: HTMLElement[][] = [];
  for (const token of tokens) {
    const last = chunks.at(-1);
    const hangs = "joined" in token.dataset || "begins" in token.dataset;
    if (last && (last.length < CHUNK || hangs)) last.push(token);
    else chunks.push([token]);
  }
  return chunks.map((chunk) =>
    element(
      "div",
      { class: "bl-rows", role: "presentation", style: `--bl-count:${chunk.length}` },
      ...chunk,
    ),
  );
}

/** The labels that look longest, each once: what is out of sight counts for a column's width. */
function widest(labels: readonly string[]): string[] {
  const length = (label: string) => {
    let sum = 0;
    for (const char of label) sum += char > "\u2e7f" ? 2 : 1;
    return sum;
  };
  const lengths = new Map(labels.map((label) => [label, length(label)]));
  return [...lengths.keys()].sort((a, b) => lengths.get(b)! - lengths.get(a)!).slice(0, WIDEST);
}

function column(side: Side, label: string): HTMLElement {
  return element("div", {
    class: `bl-column bl-column-${side}`,
    role: "listbox",
    "aria-label": label,
  });
}

function placeOf(target: EventTarget | null): Place | null {
  const token = (target as Element | null)?.closest<HTMLElement>("[data-side]");
  if (!token) return null;
  return { side: token.dataset.side as Side, index: Number(token.dataset.index) };
}
