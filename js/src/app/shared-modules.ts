import * as signals from "@preact/signals-core";
import * as controls from "../ui/controls";
import * as pane from "../ui/pane-header";
import * as ground from "../drawing/theme";
import * as number from "../ui/number-format";
import * as palette from "../drawing/colors";
import * as ramp from "../drawing/color-scale";
import * as items from "../state/items";
import * as copy from "../ui/copy-button";
import * as element from "../ui/element";
import * as picking from "../ui/head-selection";
import * as rested from "../ui/debounced-hover";
import * as runningText from "../ui/token-text";
import * as waiting from "../ui/loading-mark";
import * as words from "../ui/score-format";

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
