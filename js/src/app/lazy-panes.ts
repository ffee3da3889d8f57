import { mapView } from "../views/head-map/head-map";
import { probeView } from "../views/probe/probe";
import { queryKeyView } from "../views/query-key/query-key";
import type { Panes } from "./panes";

/**
 * Panes that are not needed for the first paint: built apart, and asked for when one is wanted.
 * A new view is a new file and a line here.
 */
export const panes: Panes = {
  map: { label: "Head map", view: mapView },
  probe: { label: "Probe", view: probeView },
  "query-key": { label: "Query and key", view: queryKeyView },
};
