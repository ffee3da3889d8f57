import { signal } from "@preact/signals-core";
import type { View } from "../state/store";
import { gridView } from "../views/grid/grid";
import { headView } from "../views/head/head";
import { tokenView } from "../views/token/token";

/** What a pane is called and how it is made. */
export interface Pane {
  label: string;
  view: View;
}

export type Panes = Readonly<Record<string, Pane>>;

/** The panes at hand: those of the first paint, and what `late.ts` adds once it is here. */
export const panes = signal<Panes>({
  grid: { label: "Layers by heads", view: gridView },
  head: { label: "Head view", view: headView },
  token: { label: "Token", view: tokenView },
});
