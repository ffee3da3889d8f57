import { effect } from "@preact/signals-core";
import { element } from "./element";

/** What to call when a control goes: each control adds its own. */
export type Stops = (() => void)[];

export interface Option<Value extends string> {
  value: Value;
  text: string;
  /** What the text means, where it is short. */
  title?: string;
}

/** A word to read, a menu to open. `read` is followed; `options` too. */
export function menu<Value extends string>(
  stops: Stops,
  label: string,
  options: () => readonly Option<Value>[],
  read: () => Value,
  pick: (value: Value) => void,
): HTMLElement {
  const select = element("select", { class: "bl-menu" });
  select.addEventListener("change", () => pick(select.value as Value));
  stops.push(
    effect(() => {
      const made = options().map(({ value, text }) => element("option", { value }, text));
      select.replaceChildren(...made);
    }),
    effect(() => {
      options();
      select.value = read();
    }),
  );
  return element("label", {}, `${label} `, select);
}

/** A few words beside each other, of which one holds. */
export function choice<Value extends string>(
  stops: Stops,
  label: string,
  options: readonly Option<Value>[],
  read: () => Value,
  pick: (value: Value) => void,
): HTMLElement {
  const buttons = options.map(({ value, text, title }) => {
    const button = element("button", { type: "button", title }, text);
    button.addEventListener("click", () => pick(value));
    stops.push(effect(() => button.setAttribute("aria-pressed", String(read() === value))));
    return button;
  });
  return element("span", { class: "bl-choice", role: "group", "aria-label": label }, ...buttons);
}

export function plainButton(text: string, label: string, act: () => void): HTMLButtonElement {
  const attributes = { type: "button", class: "bl-plain", "aria-label": label, title: label };
  const button = element("button", attributes, text);
  button.addEventListener("click", act);
  return button;
}
