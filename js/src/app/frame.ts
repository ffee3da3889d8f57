import type { Store } from "../state";
import { panes } from "../views/registry";

/** Builds one display of the store inside `el`: its panes, in the order of the trait `views`. */
export function mountFrame(el: HTMLElement, store: Store): () => void {
  const root = document.createElement("div");
  root.className = "bl-frame";
  const disposers: (() => void)[] = [];
  for (const name of store.traits.views.peek()) {
    const pane = panes[name];
    if (!pane) continue;
    const section = document.createElement("section");
    section.className = `bl-pane bl-pane-${name}`;
    section.setAttribute("aria-label", pane.label);
    root.append(section);
    disposers.push(pane.view(section, store));
  }
  el.append(root);
  return () => {
    for (const dispose of disposers.splice(0)) dispose();
    root.remove();
  };
}
