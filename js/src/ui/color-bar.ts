import { gradient, type Scale } from "../drawing/color-scale";
import { element } from "./element";
import { tick } from "./number-format";

/** A colour bar: the ramp, numbers under it where they belong, the unit behind them. */
export function colourBar(
  scale: Scale,
  unit: string,
  dark: boolean,
  baseline: number | null,
): HTMLElement {
  const ramp = element("div", { class: "bl-ramp" });
  ramp.style.background = gradient(dark);
  if (baseline !== null && baseline >= scale.low && baseline <= scale.high) {
    const mark = element("span", { class: "bl-ramp-mark", title: `baseline ${tick(baseline)}` });
    mark.style.left = `${100 * scale.at(baseline)}%`;
    ramp.append(mark);
  }
  const numbers = element("div", { class: "bl-ramp-ticks" });
  for (const { value, at } of scale.ticks) {
    const number = element("span", { class: "bl-tick" }, tick(value));
    number.style.left = `${100 * at}%`;
    numbers.append(number);
  }
  const first = tick(scale.low);
  const last = tick(scale.high);
  return element(
    "div",
    {
      class: "bl-bar",
      role: "img",
      dir: "ltr",
      "aria-label": `Colours from ${first} to ${last} ${unit}`.trim(),
    },
    element("div", { class: "bl-bar-scale" }, ramp, numbers),
    element("span", { class: "bl-bar-unit" }, unit),
  );
}
