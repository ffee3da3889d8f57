import {
  component,
  dot,
  type Inside,
  isHidden,
  part,
  product,
  reaches,
  score,
  weight,
} from "../../kernel/query-key-reply";
import { element } from "../../ui/element";
import { decimal } from "../../ui/number-format";
import { paintStrip } from "./paint-strip";

/** What a table of one token's scores shows. */
export interface Opened {
  inside: Inside;
  /** The others' labels, and the heading of the token's own strip: "query of “store”". */
  labels: readonly string[];
  own: string;
  /** What the others' vectors are called. */
  other: string;
  /** Dimensions in the order of the strips. */
  dims: readonly number[];
  /** The dimension followed, and the token that dimensions are sorted for; null for none. */
  followed: number | null;
  sortedFor: number | null;
  /** Tokens to show, in order. */
  tokens: readonly number[];
  dark: boolean;
}

/** Strips of vectors and products, and the numbers that come of them, a row a token. */
export class InsideTable {
  readonly element: HTMLElement;
  #shown: Opened | null = null;

  constructor(onFollow: (dimension: number) => void, onSortFor: (token: number) => void) {
    this.element = element("table", {
      class: "bl-inside",
      "aria-label": "Scores and weights, largest first",
    });
    this.element.addEventListener("pointermove", (event) => {
      const at = this.#at(event);
      if (at) at.strip.title = this.#words(at.dimension, at.strip.dataset.token);
    });
    this.element.addEventListener("click", (event) => {
      const at = this.#at(event);
      const token = (event.target as Element).closest("button")?.dataset.token;
      if (at) onFollow(at.dimension);
      else if (token) onSortFor(Number(token));
    });
  }

  show(opened: Opened): void {
    this.#shown = opened;
    const { inside, labels, dims, followed, sortedFor, dark } = opened;
    const { vectors, products } = reaches(inside);
    const strip = (of: (d: number) => number, full: number, token?: number) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      paintStrip(canvas, dims.map(of), full, dark);
      return element("td", { class: "bl-strip", "data-token": token }, canvas);
    };
    const numbers = (tag: "th" | "td", words: string[]) =>
      words.map((text) => element(tag, { class: "bl-number" }, text));
    const top = element(
      "tr",
      {},
      element("th", {}, "token"),
      element("th", {}, `${opened.other}, ±${decimal(vectors)}`),
      element("th", {}, `query × key, ±${decimal(products)}`),
      ...numbers("th", [
        ...(followed === null ? [] : [`dim. ${followed}`]),
        "q·k",
        ...inside.parts.map(partName),
        "score",
        "weight",
      ]),
    );
    const lines = opened.tokens.map((token) => {
      const button = element(
        "button",
        { type: "button", "data-token": token, "aria-pressed": String(token === sortedFor) },
        labels[token] ?? "",
      );
      return element(
        "tr",
        {},
        element("th", { scope: "row", dir: "auto" }, button),
        strip((d) => component(inside, token, d), vectors, token),
        strip((d) => product(inside, token, d), products, token),
        ...numbers("td", [
          ...(followed === null ? [] : [signed(product(inside, token, followed))]),
          signed(dot(inside, token)),
          ...inside.parts.map((_, i) => signed(part(inside, token, i))),
          isHidden(inside, token) ? "hidden" : signed(score(inside, token)),
          decimal(weight(inside, token)),
        ]),
      );
    });
    const own = element(
      "tr",
      {},
      element("th", { scope: "row", class: "bl-soft" }, opened.own),
      strip((d) => inside.own[d]!, vectors),
    );
    this.element.replaceChildren(element("thead", {}, top), element("tbody", {}, own, ...lines));
    this.element.toggleAttribute("data-followed", followed !== null);
    const place = (dims.indexOf(followed ?? 0) + 0.5) / inside.dim;
    this.element.style.setProperty("--bl-at", String(place));
  }

  /** The dimension under the pointer, read off the strip that it is on. */
  #at(event: MouseEvent): { strip: HTMLElement; dimension: number } | null {
    const strip = (event.target as Element).closest<HTMLElement>(".bl-strip");
    if (!strip || !this.#shown) return null;
    const { left, width } = strip.firstElementChild!.getBoundingClientRect();
    const { dims } = this.#shown;
    const dimension = dims[Math.floor(((event.clientX - left) / width) * dims.length)];
    return dimension === undefined ? null : { strip, dimension };
  }

  #words(d: number, token: string | undefined): string {
    const { inside } = this.#shown!;
    const of = [component, product].map((value) => token && signed(value(inside, +token, d)));
    return `dimension ${d}: ${signed(inside.own[d]!)}${token ? ` × ${of.join(" = ")}` : ""}`;
  }
}

export function partName(name: string): string {
  return name.replace("_bias", "");
}

export function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${value < -1e30 ? "∞" : decimal(Math.abs(value))}`;
}
