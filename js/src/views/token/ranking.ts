import { css, headColor, headRgb } from "../../drawing/colors";
import { element, say } from "../../ui/element";

/** What a ranking shows: weights of `heads`, each [n], and their mean; `order` the items to rank, largest first. */
export interface Ranked {
  labels: readonly string[];
  heads: readonly { name: string; head: number; weights: ArrayLike<number> }[];
  mean: ArrayLike<number>;
  order: readonly number[];
  /** Exact values show three decimals; others, which follow the pointer, two; one more where all are small. */
  exact: boolean;
}

/** More heads than these share the mean's column: their own numbers are in the copied text. */
const MOST_COLUMNS = 3;

/** Items by weight, largest first; ties go to the lower index. Left out: those marked in `hidden`. */
export function order(mean: ArrayLike<number>, hidden: ArrayLike<number> | null): number[] {
  const kept = Array.from({ length: mean.length }, (_, i) => i).filter((i) => !hidden?.[i]);
  return kept.sort((a, b) => mean[b]! - mean[a]! || a - b);
}

/** The full width of a bar: the smallest of a few round numbers that holds the largest weight. */
export function reach(largest: number): number {
  return [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1].find((round) => largest <= round) ?? 1;
}

/** A table of tokens with bars and numbers. A bar is as long as the mean; its parts are the heads' shares in it. */
export class Ranking {
  readonly element: HTMLTableElement;
  readonly #head = element("tr");
  readonly #body = element("tbody");
  #lines: Line[] = [];
  #columns = "";

  constructor(label: string) {
    const thead = element("thead", {}, this.#head);
    this.element = element(
      "table",
      { class: "bl-ranking", "aria-label": label },
      thead,
      this.#body,
    );
  }

  show(ranked: Ranked, most: number, dark: boolean): void {
    const { heads, mean } = ranked;
    const own = heads.length > 1 && heads.length <= MOST_COLUMNS ? heads : [];
    this.#title(own, heads.length > 1 ? "mean" : (heads[0]?.name ?? ""), dark);
    const shown = ranked.order.slice(0, most);
    const full = reach(shown.length > 0 ? mean[shown[0]!]! : 1);
    while (this.#lines.length > shown.length) this.#lines.pop()!.row.remove();
    while (this.#lines.length < shown.length) {
      const line = new Line();
      this.#lines.push(line);
      this.#body.append(line.row);
    }
    const digits = (ranked.exact ? 3 : 2) + Number(full < 0.02);
    const words = (weight: number) => (ranked.exact ? "" : "≈") + weight.toFixed(digits);
    const labels = shown.map((item) => ranked.labels[item] ?? "");
    for (const [i, item] of shown.entries()) {
      const parts = heads.map(({ weights }, place) => ({
        width: (100 * weights[item]!) / heads.length / full,
        colour: headColor(place, dark),
      }));
      const numbers = [...own.map(({ weights }) => words(weights[item]!)), words(mean[item]!)];
      const label = labels[i]!;
      const again = labels.indexOf(label) !== labels.lastIndexOf(label);
      this.#lines[i]!.show(label, item, again, parts, numbers);
    }
  }

  #title(own: Ranked["heads"], last: string, dark: boolean): void {
    const columns = `${own.map(({ name }) => name).join()} ${last} ${dark}`;
    if (columns === this.#columns) return;
    this.#columns = columns;
    this.element.toggleAttribute("data-single", own.length === 0);
    const names = own.map(({ name }, place) => {
      const dot = element("i");
      dot.style.backgroundColor = headColor(place, dark);
      return element("th", { scope: "col", class: "bl-number bl-own" }, dot, name);
    });
    this.#head.replaceChildren(
      element("th", { scope: "col" }, "token"),
      element("td"),
      ...names,
      element("th", { scope: "col", class: "bl-number" }, last),
    );
  }
}

class Line {
  readonly row = element("tr");
  readonly #label = element("th", { scope: "row", dir: "auto" });
  readonly #bar = element("div", { class: "bl-ranking-bar" });
  #numbers: HTMLElement[] = [];

  constructor() {
    this.row.append(this.#label, element("td", {}, this.#bar));
  }

  show(
    label: string,
    item: number,
    again: boolean,
    parts: { width: number; colour: string }[],
    numbers: string[],
  ): void {
    say(this.#label, label);
    this.#label.title = `${label} (${item})`;
    // of tokens that read the same each says which it is
    if (again) this.#label.dataset.at = String(item);
    else delete this.#label.dataset.at;
    // One background, not an element a part: twelve heads in ten lines took longer to lay out than to draw.
    let end = 0;
    const stops = parts.map(({ width, colour }) => {
      const start = end;
      end += width;
      return `${colour} ${start.toFixed(2)}% ${end.toFixed(2)}%`;
    });
    this.#bar.style.background = `linear-gradient(to right, ${stops}, transparent 0)`;
    while (this.#numbers.length > numbers.length) this.#numbers.pop()!.remove();
    while (this.#numbers.length < numbers.length) {
      const cell = element("td");
      this.#numbers.push(cell);
      this.row.append(cell);
    }
    for (const [i, text] of numbers.entries()) {
      const cell = this.#numbers[i]!;
      cell.className = i < numbers.length - 1 ? "bl-number bl-own" : "bl-number";
      say(cell, text);
    }
  }
}

/**
 * Backgrounds of items by their weights: the hue is the heads' mixed by weight, the strength the root of the mean
 * against `full`.
 */
export function shades(ranked: Ranked, dark: boolean): string[] {
  const { heads, mean } = ranked;
  const full = reach(ranked.order.length > 0 ? mean[ranked.order[0]!]! : 1);
  const colours = heads.map((_, place) => headRgb(place, dark));
  const shown = new Set(ranked.order);
  return Array.from({ length: mean.length }, (_, item) => {
    const strength = 0.42 * Math.sqrt(Math.min(1, mean[item]! / full));
    if (!shown.has(item) || strength < 0.02) return "";
    const sum = mean[item]! * heads.length;
    const mix = [0, 1, 2].map((channel) =>
      Math.round(
        heads.reduce((mixed, { weights }, i) => mixed + weights[item]! * colours[i]![channel]!, 0) /
          sum,
      ),
    ) as [number, number, number];
    return css(mix, Number(strength.toFixed(3)));
  });
}
