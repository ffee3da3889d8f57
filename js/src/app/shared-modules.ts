import * as signals from "@preact/signals-core";
import * as ramp from "../drawing/color-scale";
import * as palette from "../drawing/colors";
import * as ground from "../drawing/theme";
import * as items from "../state/items";
import * as controls from "../ui/controls";
import * as copy from "../ui/copy-button";
import * as rested from "../ui/debounced-hover";
import * as element from "../ui/element";
import * as picking from "../ui/head-selection";
import * as waiting from "../ui/loading-mark";
import * as number from "../ui/number-format";
import * as pane from "../ui/pane-header";
import * as words from "../ui/score-format";
import * as runningText from "../ui/token-text";

/** What the lazy panes use of the page instead of carrying their own copy; see build.mjs. */
export const core = {
  "@preact/signals-core": signals,
  "drawing/color-scale": ramp,
  "drawing/colors": palette,
  "drawing/theme": ground,
  "state/items": items,
  "ui/controls": controls,
  "ui/copy-button": copy,
  "ui/debounced-hover": rested,
  "ui/element": element,
  "ui/head-selection": picking,
  "ui/loading-mark": waiting,
  "ui/number-format": number,
  "ui/pane-header": pane,
  "ui/score-format": words,
  "ui/token-text": runningText,
};
