import { effect, untracked } from "@preact/signals-core";
import type { Store } from "../state/store";
import { type Panes, panes } from "./panes";
import { core } from "./shared-modules";

/** The late panes from their code, which is a function of what it shares with the page. */
async function panesOf(code: string): Promise<Panes> {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    const module = await import(/* @vite-ignore */ url);
    return module.default(core).panes;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Brings the late panes once the store shows one: their code is in the trait `late` where a view
 * has no other panes, and is asked for otherwise, after the first lines are on screen.
 */
export function fetchLatePanes(store: Store): () => void {
  const { views, late } = store.traits;
  let started = false;
  return effect(() => {
    const missing = views.value.some((name) => !(name in panes.value));
    const waits = views.value.includes("head") && !store.page.painted.value;
    const given = late.value;
    if (!missing || waits || started) return;
    started = true;
    untracked(async () => {
      try {
        const code = given || (await store.latePanes());
        if (code) panes.value = { ...panes.peek(), ...(await panesOf(code)) };
        else started = false;
      } catch (error) {
        store.page.error.value = `Some panes could not be loaded: ${error}`;
      }
    });
  });
}
