import { effect, signal } from "@preact/signals-core";
import type { ScorePayload, View } from "../../state/store";
import { afterLines } from "../../ui/after-first-paint";
import { copyButton, table } from "../../ui/copy-button";
import { element, say } from "../../ui/element";
import { decimal, tick } from "../../ui/number-format";
import {
  byRank,
  headName,
  knownScores,
  rankWords,
  scoreTitle,
  scoreValue,
  shortUnit,
} from "../../ui/score-format";

const FEW = 10;

/**
 * What is known of the selected head, a line a score: name, value, rank. Those by which it stands out among all heads
 * come first. A click colours the grid by a score and opens its details.
 */
export const cardView: View = (container, store) => {
  const { layer, score, meta } = store.traits;
  const all = signal(false);
  const title = element("h3", { class: "bl-subtitle" });
  const plain = (text = "") => element("button", { type: "button", class: "bl-plain" }, text);
  const maps = plain("show maps");
  maps.addEventListener("click", () => {
    score.value = null;
  });
  const more = plain();
  more.addEventListener("click", () => {
    all.value = !all.value;
  });
  const { value: shown, dispose: unfollow } = afterLines(store, () => {
    const selected = store.selected.value;
    const head = selected !== null && selected < meta.value.n_heads ? selected : null;
    return { layer: layer.value, head };
  });
  const copying = copyButton("Copy the scores of this head", () => {
    const { layer, head: at } = shown.peek();
    if (at === null) return "";
    const lines = knownScores(store).map((known) => {
      const value = known.values[layer]?.[at] ?? null;
      const named = known.categories?.length && value !== null;
      return [
        scoreTitle(known),
        named ? scoreValue(known, layer, at) : String(value ?? ""),
        known.unit,
        rankWords(known, layer, at),
      ];
    });
    return table([[headName(layer, at), "value", "unit", "rank"], ...lines]);
  });
  const body = element("tbody");
  const scores = element("table", { class: "bl-card-scores" }, body);
  const empty = element("p", { class: "bl-empty" });
  const tools = element("div", { class: "bl-pane-tools" }, maps, copying);
  container.append(element("div", { class: "bl-pane-header" }, title, tools), empty, scores, more);

  const lines = new Map<string, ReturnType<typeof line>>();
  const line = (name: string) => {
    const button = element("button", { type: "button", class: "bl-card-score" });
    const value = element("td", { class: "bl-number" });
    const unit = element("td", { class: "bl-soft" });
    const place = element("td", { class: "bl-number bl-soft" });
    const row = element("tr", {}, element("th", { scope: "row" }, button), value, unit, place);
    row.addEventListener("click", () => {
      const known = knownScores(store).find((one) => one.name === name) ?? null;
      score.value = score.peek()?.name === name ? null : known;
    });
    return { row, button, value, unit, place };
  };
  const words = element("td", { colspan: 4 });
  const detail = element("tr", { class: "bl-card-detail bl-soft" }, words);

  const stop = effect(() => {
    const { layer, head: at } = shown.value;
    const known = knownScores(store);
    const on = score.value?.name;
    title.textContent = at === null ? "No head" : headName(layer, at);
    maps.hidden = on === undefined;
    scores.hidden = at === null || known.length === 0;
    copying.hidden = scores.hidden;
    more.hidden = scores.hidden || known.length <= FEW;
    more.textContent = all.value ? "fewer" : `all ${known.length} scores`;
    more.setAttribute("aria-expanded", String(all.value));
    empty.hidden = !scores.hidden;
    empty.textContent = emptyState(at === null, store.kernel.value === "silent");
    if (at === null) return;
    for (const name of lines.keys()) {
      if (!known.some((one) => one.name === name)) lines.delete(name);
    }
    const rows: HTMLElement[] = [];
    for (const [i, one] of byRank(known, layer, at).entries()) {
      const parts = lines.get(one.name) ?? line(one.name);
      lines.set(one.name, parts);
      const { row, button, value, unit, place } = parts;
      const chosen = on === one.name;
      const details = detailsOf(one, layer, at);
      say(button, scoreTitle(one));
      button.setAttribute("aria-pressed", String(chosen));
      button.title = [one.description, ...details].filter(Boolean).join("\n");
      say(value, scoreValue(one, layer, at));
      const named = Boolean(one.categories?.length);
      value.colSpan = named ? 3 : 1;
      unit.hidden = place.hidden = named;
      say(unit, shortUnit(one));
      say(place, rankWords(one, layer, at));
      if (!all.value && i >= FEW && !chosen && !row.matches(":focus-within")) continue;
      rows.push(row);
      if (chosen && details.length > 0) {
        words.textContent = details.join(" · ");
        rows.push(detail);
      }
    }
    if (rows.length === body.children.length && rows.every((row, i) => row === body.children[i]))
      return;
    // what is moved loses the focus
    const focused = body.querySelector<HTMLElement>(":focus");
    body.replaceChildren(...rows);
    focused?.focus({ preventScroll: true });
  });
  return () => {
    stop();
    unfollow();
    container.replaceChildren();
  };
};

function emptyState(noHead: boolean, silent: boolean): string {
  if (noHead) return "Switch a head on to see what is known of it.";
  return silent ? "Scores come with a running kernel." : "Its scores are on their way.";
}

/** What has no room on a line: a long unit, and where they are known interval, support and baseline. */
function detailsOf(score: ScorePayload, layer: number, head: number): string[] {
  const at = (values: (number | null)[][] | null) => values?.[layer]?.[head] ?? null;
  const [low, high, support] = [at(score.low), at(score.high), at(score.support)];
  return [
    shortUnit(score) ? "" : score.unit,
    low !== null && high !== null ? `95% interval ${decimal(low)} to ${decimal(high)}` : "",
    // of one text alone there is one observation, which says nothing
    support !== null && support !== 1 ? `n = ${tick(support)}` : "",
    score.baseline !== null ? `baseline ${decimal(score.baseline)}` : "",
  ].filter(Boolean);
}
