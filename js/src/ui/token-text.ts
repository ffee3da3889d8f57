import type { Items } from "../state/store";
import { element } from "./element";
import { Shades } from "./token-shading";
import { direction, spaces } from "./token-spacing";

/** The label of a further token of a character that the token before shows. */
const SAME = "⋮";

export interface Choosing {
  /** Null when the pointer or the focus has left. */
  onHover(index: number | null): void;
  /** A token was clicked, or Enter pressed on it, with the Shift key (`join`) or without; null: Escape. */
  onPin(index: number | null, join: boolean): void;
}

/** A text as it runs, each token a place for a shade. With `choose`, one tab stop whose arrows move. */
export class RunningText {
  readonly element: HTMLElement;
  readonly #text = element("div", { class: "bl-running-text", role: "presentation" });
  readonly #shades = new Shades(this.#text);
  #tokens: HTMLElement[] = [];
  #stop: HTMLElement | null = null;
  readonly #chooses: boolean;

  constructor(label: string, choose: Choosing | null) {
    const role = choose ? "listbox" : "group";
    this.element = element("div", { class: "bl-running", role, "aria-label": label }, this.#text);
    this.#chooses = choose !== null;
    if (choose) this.#listen(choose);
  }

  #listen({ onHover, onPin }: Choosing): void {
    const at = (event: Event) => {
      const token = event.target instanceof Element ? event.target.closest(".bl-piece") : null;
      const index = token ? this.#tokens.indexOf(token as HTMLElement) : -1;
      return index < 0 ? null : index;
    };
    this.element.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") onHover(at(event));
    });
    this.element.addEventListener("pointerleave", () => onHover(null));
    this.element.addEventListener("focusin", (event) => onHover(at(event)));
    this.element.addEventListener("focusout", () => onHover(null));
    this.element.addEventListener("click", (event) => {
      const index = at(event);
      if (index === null) return;
      this.#rove(index, true);
      onPin(index, event.shiftKey);
    });
    this.element.addEventListener("mousedown", (event) => {
      // Shift-click joins tokens; it must not mark the text between them.
      if (event.shiftKey) event.preventDefault();
    });
    this.element.addEventListener("keydown", (event) => {
      const index = at(event);
      if (index === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const next = this.#next(event.key, index);
      if (event.key === "Enter" || event.key === " ") onPin(index, event.shiftKey);
      else if (event.key === "Escape") onPin(null, false);
      else if (next !== null) this.#rove(next, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Shows other tokens. `texts`: the texts of segment 0 and 1, where they are known. */
  show(items: Items, texts: readonly (string | null)[]): void {
    const apart = spaces(items, texts);
    this.#tokens = items.label.map((label, i) =>
      element(
        "span",
        {
          class: "bl-piece",
          ...(this.#chooses ? { role: "option", tabindex: -1, "aria-selected": "false" } : {}),
          "data-special": Boolean(items.special[i]),
          "data-joined": i > 0 && !apart[i],
          "data-same": label === SAME,
          title: items.text[i] === label ? null : (items.text[i] ?? null),
        },
        label,
      ),
    );
    this.element.dir = direction(items);
    this.#text.replaceChildren(
      ...this.#tokens.flatMap((token, i) => {
        const second = i > 0 && items.segment[i] !== items.segment[i - 1];
        return second ? [element("br"), token] : apart[i] ? [" ", token] : [token];
      }),
    );
    this.#shades.show(this.#tokens);
    this.#stop = null;
    if (this.#chooses) this.#rove(0, false);
  }

  /** Backgrounds, one CSS colour a token; "" for none. False: there is no room to draw them now. */
  shade(colours: readonly string[]): boolean {
    return this.#shades.shade(colours);
  }

  /** Rings the pinned token and tints the one pointed at. */
  mark(pinned: number | null, pointed: number | null): void {
    for (const name of ["data-pinned", "data-pointed"]) {
      for (const token of this.element.querySelectorAll(`[${name}]`)) {
        token.removeAttribute(name);
        if (name === "data-pinned") token.setAttribute("aria-selected", "false");
      }
    }
    const pin = pinned === null ? undefined : this.#tokens[pinned];
    pin?.setAttribute("data-pinned", "");
    pin?.setAttribute("aria-selected", "true");
    if (pinned !== null && !this.element.matches(":focus-within")) this.#rove(pinned, false);
    if (pointed !== null) this.#tokens[pointed]?.setAttribute("data-pointed", "");
  }

  /** Scrolls the text, never the page, until a token is in sight. */
  reveal(index: number): void {
    const token = this.#tokens[index];
    if (!token) return;
    const own = token.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    if (own.top < frame.top) this.element.scrollTop += own.top - frame.top - 4;
    else if (own.bottom > frame.bottom) this.element.scrollTop += own.bottom - frame.bottom + 4;
  }

  #next(key: string, index: number): number | null {
    const forward = this.element.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = this.element.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    const last = this.#tokens.length - 1;
    if (key === forward || key === "ArrowDown") return Math.min(index + 1, last);
    if (key === backward || key === "ArrowUp") return Math.max(index - 1, 0);
    return key === "Home" ? 0 : key === "End" ? last : null;
  }

  #rove(index: number, focus: boolean): void {
    this.#stop?.setAttribute("tabindex", "-1");
    this.#stop = this.#tokens[index] ?? null;
    this.#stop?.setAttribute("tabindex", "0");
    if (focus) this.#stop?.focus();
  }
}
