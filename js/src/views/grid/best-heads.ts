import type { ScorePayload } from "../../state/store";
import { element } from "../../ui/element";
import { decimal } from "../../ui/number-format";

const BEST = 5;

/** The heads that stand out by a score, the most notable first; ties go to the lowest layer, then head. */
function bestHeads(score: ScorePayload): { layer: number; head: number; value: number }[] {
  const sign = score.notable === "low" ? 1 : -1;
  const all = score.values.flatMap((row, layer) =>
    row.flatMap((value, head) => (value === null ? [] : [{ layer, head, value }])),
  );
  return all.sort((a, b) => sign * (a.value - b.value)).slice(0, BEST);
}

/** Buttons that name them: a press chooses the head. */
export function bestButtons(
  score: ScorePayload,
  choose: (layer: number, head: number) => void,
): HTMLElement {
  const buttons = bestHeads(score).map(({ layer, head, value }) => {
    const name = `${layer}-${head}`;
    const label = `Choose head ${name}, ${decimal(value)}`;
    const button = element(
      "button",
      { type: "button", class: "bl-plain", "aria-label": label },
      element("b", {}, name),
      ` ${decimal(value)}`,
    );
    button.addEventListener("click", () => choose(layer, head));
    return button;
  });
  return element("p", { class: "bl-note bl-best" }, "best ", ...buttons);
}
