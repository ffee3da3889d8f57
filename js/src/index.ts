import "./styles/index.css";
import type { AnyModel } from "@anywidget/types";
import { mountFrame } from "./app/frame";
import { Store } from "./state/store";

interface Initialized {
  model: AnyModel;
  signal?: AbortSignal;
}

interface Rendered extends Initialized {
  el: HTMLElement;
}

/**
 * The widget as anywidget wants it. A function, so that hosts that load the module once for several
 * models still get one store for each model, shared by all its renders.
 */
export default function widget() {
  let store: Store | undefined;
  return {
    initialize({ model, signal }: Initialized) {
      const made = new Store(model);
      store = made;
      signal?.addEventListener("abort", () => made.dispose(), { once: true });
      return () => made.dispose();
    },
    render({ el, signal }: Rendered) {
      if (!store) throw new Error("bertlens: render was called before initialize");
      const dispose = mountFrame(el, store);
      signal?.addEventListener("abort", dispose, { once: true });
      return dispose;
    },
  };
}
