import * as signals from "@preact/signals-core";
import * as controls from "./app/controls";
import * as pane from "./app/pane";
import * as ground from "./drawing/theme";
import * as number from "./drawing/number";
import * as palette from "./drawing/colors";
import * as ramp from "./drawing/color-scale";
import * as items from "./state/items";
import * as copy from "./views/copy";
import * as element from "./views/element";
import * as picking from "./views/picking";
import * as rested from "./views/rested";
import * as runningText from "./views/running-text";
import * as waiting from "./views/waiting";
import * as words from "./views/words";

/** What the late panes use of the page instead of carrying their own copy; see build.mjs. */
export const core = {
  "@preact/signals-core": signals,
  "./app/controls": controls,
  "./app/pane": pane,
  "./drawing/ground": ground,
  "./drawing/number": number,
  "./drawing/palette": palette,
  "./drawing/ramp": ramp,
  "./items": items,
  "./views/copy": copy,
  "./views/element": element,
  "./views/picking": picking,
  "./views/rested": rested,
  "./views/running-text": runningText,
  "./views/waiting": waiting,
  "./views/words": words,
};
