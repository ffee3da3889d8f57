import "../src/styles/index.css";
import axe from "axe-core";
import { expect, vi } from "vitest";
import { mountFrame } from "../src/app/frame";
import { panes as late } from "../src/app/lazy-panes";
import { panes } from "../src/app/panes";
import { Store } from "../src/state/store";
import { type Attention, storePair, synthetic } from "./attention";
import { FakeModel, type FakeOptions } from "./fake-model";

// As once their code has arrived.
panes.value = { ...panes.value, ...late };

export interface Shown {
  model: FakeModel;
  store: Store;
  el: HTMLElement;
  /** The one element that a selector finds. */
  find<Kind extends HTMLElement = HTMLElement>(selector: string): Kind;
  all(selector: string): HTMLElement[];
  /** The one button with this text. */
  button(text: string): HTMLButtonElement;
  dispose(): void;
}

/** Some panes of the widget on the page, on a fake kernel; 3 layers of 4 heads unless told otherwise. */
export function show(
  views: string[],
  {
    attention = synthetic(storePair()),
    width = 480,
    ...options
  }: FakeOptions & { attention?: Attention; width?: number } = {},
): Shown {
  const traits = { ...options.traits, views };
  const model = new FakeModel(attention, { ...options, traits });
  const store = new Store(model as never);
  const el = document.createElement("div");
  el.style.width = `${width}px`;
  document.body.append(el);
  const unmount = mountFrame(el, store);
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const only = <Kind extends HTMLElement>(found: HTMLElement[], what: string): Kind => {
    if (found.length !== 1) throw new Error(`${found.length} elements are ${what}`);
    return found[0] as Kind;
  };
  return {
    model,
    store,
    el,
    all,
    find: (selector) => only(all(selector), selector),
    button: (text) =>
      only(
        all("button").filter((button) => button.textContent === text),
        `buttons "${text}"`,
      ),
    dispose() {
      unmount();
      store.dispose();
      el.remove();
    },
  };
}

export function press(target: Element, key: string, more: KeyboardEventInit = {}): void {
  target.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
  );
}

export function point(target: Element, at: { x: number; y: number } | null = null): void {
  const box = target.getBoundingClientRect();
  const clientX = box.left + (at ? at.x : box.width / 2);
  const clientY = box.top + (at ? at.y : box.height / 2);
  for (const type of ["pointerover", "pointermove"]) {
    target.dispatchEvent(
      new PointerEvent(type, { bubbles: true, clientX, clientY, pointerType: "mouse" }),
    );
  }
}

export async function expectAccessible(el: Element): Promise<void> {
  const { violations } = await axe.run(el, { resultTypes: ["violations"] });
  const words = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`,
  );
  expect(words).toEqual([]);
}

/** The colour of a canvas at a share of its width and height, [r, g, b]. */
export function pixel(canvas: HTMLCanvasElement, x: number, y: number): number[] {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The canvas has no context");
  const at = context.getImageData(
    Math.floor(x * canvas.width),
    Math.floor(y * canvas.height),
    1,
    1,
  );
  return [...at.data.slice(0, 3)];
}

export const eventually = vi.waitFor;
