import type { View } from "../state";
import { gridView } from "./grid";
import { headView } from "./head";
import { tokenView } from "./token";

/** What a pane is called and how it is made. A new view is a new file and a line here. */
export interface Pane {
  label: string;
  view: View;
}

export const panes: Readonly<Record<string, Pane>> = {
  grid: { label: "Layers by heads", view: gridView },
  head: { label: "Head view", view: headView },
  token: { label: "Token", view: tokenView },
};
