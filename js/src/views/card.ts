import { computed, effect } from "@preact/signals-core";
import { decimal } from "../drawing/number";
import type { ScorePayload, View } from "../state";
import { copyButton, table } from "./copy";
import { element } from "./element";
import { headName, knownScores, rankWords, scoreTitle } from "./words";

/** What is known of the selected head: its scores by name, value, unit and rank. A score colours the grid. */
export const cardView: View = (container, store) => {
  const { layer, score, meta } = store.traits;
  const title = element("h3", { class: "bl-subtitle" });
  const maps = element("button", { type: "button", class: "bl-plain" }, "show maps");
  maps.addEventListener("click", () => {
    score.value = null;
  });
  const head = computed(() => {
    const selected = store.selected.value;
    return selected !== null && selected < meta.value.n_heads ? selected : null;
  });
  const copying = copyButton("Copy the scores of this head", () => {
    const at = head.peek();
    if (at === null) return "";
    const lines = knownScores(store).map((known) => {
      const value = known.values[layer.peek()]?.[at] ?? null;
      return [
        scoreTitle(known),
        value === null ? "" : String(value),
        known.unit,
        rankWords(known, layer.peek(), at),
      ];
    });
    return table([[headName(layer.peek(), at), "value", "unit", "rank"], ...lines]);
  });
  const body = element("tbody");
  const scores = element("table", { class: "bl-card-scores" }, body);
  const empty = element("p", { class: "bl-empty" });
  const tools = element("div", { class: "bl-pane-tools" }, maps, copying);
  container.append(element("div", { class: "bl-pane-header" }, title, tools), empty, scores);

  // in place rather than anew: a button that is pressed must keep the focus
  const lines = new Map<string, ReturnType<typeof line>>();
  const line = (name: string) => {
    const button = element("button", {
      type: "button",
      class: "bl-card-score",
    });
    button.addEventListener("click", () => {
      const known = knownScores(store).find((one) => one.name === name) ?? null;
      score.value = score.peek()?.name === name ? null : known;
    });
    const value = element("td", { class: "bl-number" });
    const unit = element("td", { class: "bl-soft" });
    const place = element("td", { class: "bl-number bl-soft" });
    const row = element("tr", {}, element("th", { scope: "row" }, button), value, unit, place);
    return { row, button, value, unit, place };
  };

  const stop = effect(() => {
    const at = head.value;
    const known = knownScores(store);
    const on = score.value?.name;
    title.textContent = at === null ? "No head" : headName(layer.value, at);
    maps.hidden = on === undefined;
    scores.hidden = at === null || known.length === 0;
    copying.hidden = scores.hidden;
    empty.hidden = !scores.hidden;
    empty.textContent = emptyState(at === null, store.kernel.value === "silent");
    if (at === null) return;
    for (const [name, { row }] of lines) {
      if (known.some((one) => one.name === name)) continue;
      row.remove();
      lines.delete(name);
    }
    for (const one of known) {
      let parts = lines.get(one.name);
      if (!parts) {
        parts = line(one.name);
        lines.set(one.name, parts);
        body.append(parts.row);
      }
      const { button, value, unit, place } = parts;
      button.textContent = scoreTitle(one);
      button.setAttribute("aria-pressed", String(on === one.name));
      button.title = one.description;
      value.textContent = decimal(one.values[layer.value]?.[at] ?? null);
      unit.textContent = unitWords(one, layer.value, at);
      place.textContent = rankWords(one, layer.value, at);
    }
  });
  return () => {
    stop();
    container.replaceChildren();
  };
};

function emptyState(noHead: boolean, silent: boolean): string {
  if (noHead) return "Switch a head on to see what is known of it.";
  return silent ? "Scores come with a running kernel." : "Its scores are on their way.";
}

/** The unit, and where they are known the value's interval and support. */
function unitWords(score: ScorePayload, layer: number, head: number): string {
  const at = (values: (number | null)[][] | null) => values?.[layer]?.[head] ?? null;
  const [low, high, support] = [at(score.low), at(score.high), at(score.support)];
  const interval = low !== null && high !== null ? `${decimal(low)} to ${decimal(high)}` : "";
  const count = support !== null ? `n = ${support}` : "";
  return [score.unit, interval, count].filter(Boolean).join(", ");
}
