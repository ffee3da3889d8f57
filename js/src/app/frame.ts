import { computed, effect, signal, untracked } from "@preact/signals-core";
import { headVariables, watchGround } from "../drawing/theme";
import type { Store } from "../state/store";
import { PATIENCE } from "../ui/after-first-paint";
import { fetchLatePanes } from "./load-panes";
import { panes } from "./panes";
import { mountTop } from "./top";

/** Builds one display of the store inside `el`: the text, then its panes in the order of `views`. */
export function mountFrame(el: HTMLElement, store: Store): () => void {
  const document = el.ownerDocument;
  const frame = document.createElement("div");
  frame.className = "bl-frame";
  el.classList.add("bl-host");
  el.append(frame);

  const abort = new AbortController();
  const { signal: ended } = abort;
  const disposers: (() => void)[] = [() => abort.abort()];
  const ground = watchGround(frame);
  disposers.push(ground.dispose);
  const { meta, layer, heads, views } = store.traits;
  disposers.push(
    effect(() => frame.setAttribute("style", headVariables(heads.value, ground.dark.value))),
  );

  disposers.push(
    effect(() => {
      frame.toggleAttribute("data-closed", store.silence.value === "closed");
    }),
  );

  // JupyterLab's shortcuts see a key before anything in here does, but after the window: plain keys are kept from
  // them, those with Ctrl or Cmd are theirs, unless they edit the text that is typed.
  document.defaultView?.addEventListener(
    "keydown",
    (event) => {
      const target = event.composedPath()[0];
      if (!(target instanceof Element) || !frame.contains(target)) return;
      const edits = target.matches("textarea") && /^[acvxyz]$/i.test(event.key);
      const theirs = (event.ctrlKey || event.metaKey) && !edits;
      if (theirs) frame.removeAttribute("data-lm-suppress-shortcuts");
      else frame.setAttribute("data-lm-suppress-shortcuts", "true");
    },
    { capture: true, signal: ended },
  );
  frame.addEventListener(
    "keydown",
    (event) => {
      if (frame.hasAttribute("data-lm-suppress-shortcuts")) event.stopPropagation();
      const step = event.key === "]" ? 1 : event.key === "[" ? -1 : 0;
      const typing = (event.target as Element).matches("textarea, input[type=text]");
      if (!step || typing || event.ctrlKey || event.metaKey) return;
      layer.value = Math.max(0, Math.min(meta.value.n_layers - 1, layer.value + step));
      event.preventDefault();
    },
    { signal: ended },
  );

  const top = document.createElement("div");
  top.className = "bl-top";
  const row = document.createElement("div");
  row.className = "bl-panes";
  frame.append(top, row);
  disposers.push(mountTop(top, store));

  // Before any pane looks at another layer: its lines wait longest for the kernel.
  disposers.push(
    effect(() => {
      if (views.value.includes("head")) store.askFirst();
    }),
  );

  // The lines come first: the other panes keep their places, and fill them once those are on screen.
  const waited = signal(false);
  const patience = setTimeout(() => {
    waited.value = true;
  }, PATIENCE);
  disposers.push(() => clearTimeout(patience));

  let mounted: (() => void)[] = [];
  const unmount = () => {
    for (const dispose of mounted) dispose();
    mounted = [];
    row.replaceChildren();
  };
  const mount = (name: string) => {
    const section = document.createElement("section");
    section.className = `bl-pane bl-pane-${name}`;
    row.append(section);
    const pane = computed(() => panes.value[name]);
    const first = name === "head" || !views.peek().includes("head");
    const due = computed(() => first || store.page.painted.value || waited.value);
    return effect(() => {
      section.hidden = !pane.value;
      if (!pane.value || !due.value) return;
      const { label, view } = pane.value;
      section.setAttribute("aria-label", label);
      return untracked(() => view(section, store));
    });
  };
  disposers.push(
    effect(() => {
      const names = views.value;
      unmount();
      mounted = untracked(() => names.map(mount));
    }),
    unmount,
    fetchLatePanes(store),
  );

  // Hosts render into detached elements and move them about: colours are known once it is on the page.
  const shown = new ResizeObserver(() => ground.look());
  shown.observe(frame);
  disposers.push(() => shown.disconnect());

  return () => {
    for (const dispose of disposers.splice(0).reverse()) dispose();
    frame.remove();
  };
}
