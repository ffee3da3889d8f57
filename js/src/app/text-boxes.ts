import { effect } from "@preact/signals-core";
import type { Store } from "../state/store";

const LABELS: [string, string] = ["Text", "Second text, optional"];

/** Two boxes that run the model on what is typed: on Enter, or when one is left changed. */
export function textBoxes(container: HTMLElement, store: Store): () => void {
  const { traits, page } = store;
  const document = container.ownerDocument;
  const abort = new AbortController();
  const { signal } = abort;
  const boxes = [box(document), box(document)] as const;
  container.append(...boxes);

  const typed = () => {
    const pair = boxes[1].value;
    return { text: boxes[0].value, pair: pair.trim() === "" ? null : pair };
  };
  let asked = { text: traits.text.peek(), pair: traits.text_pair.peek() };
  const run = (again: boolean) => {
    const now = typed();
    if (!again && now.text === asked.text && now.pair === asked.pair) return;
    asked = now;
    void store.run(now.text, now.pair);
  };

  for (const element of boxes) {
    element.addEventListener("change", () => run(false), { signal });
    element.addEventListener(
      "keydown",
      (event) => {
        // Enter also ends a composition in Chinese or Japanese: that one is not ours.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        run(page.error.value !== null);
      },
      { signal },
    );
  }
  const stops = [
    // A text set in Python replaces what stands here, but never under the hands of who types.
    effect(() => {
      const texts = [traits.text.value, traits.text_pair.value ?? ""];
      asked = { text: traits.text.value, pair: traits.text_pair.value };
      const { activeElement } = container.getRootNode() as Document | ShadowRoot;
      for (const [i, element] of boxes.entries()) {
        const typing = page.busy.peek() && element === activeElement;
        if (element.value !== texts[i] && !typing) element.value = texts[i]!;
      }
    }),
    effect(() => {
      // An encoder-decoder reads a source and a target.
      for (const [i, label] of (traits.meta.value.texts ?? LABELS).entries()) {
        boxes[i]!.placeholder = label;
        boxes[i]!.setAttribute("aria-label", label);
      }
    }),
    effect(() => {
      container.hidden = !traits.editable.value;
    }),
    effect(() => {
      for (const element of boxes) {
        element.setAttribute("aria-busy", String(page.busy.value));
        element.setAttribute("aria-invalid", String(page.error.value !== null));
      }
    }),
  ];
  return () => {
    abort.abort();
    for (const stop of stops) stop();
    container.replaceChildren();
  };
}

function box(document: Document): HTMLTextAreaElement {
  const element = document.createElement("textarea");
  element.className = "bl-text";
  element.rows = 1;
  element.spellcheck = false;
  element.dir = "auto";
  return element;
}
