import { computed, effect } from "@preact/signals-core";
import { linearScale, ramp, weightScale } from "../../drawing/color-scale";
import { categoryRgb, css, wordOf } from "../../drawing/colors";
import { surface } from "../../drawing/repaint";
import { groundOf } from "../../drawing/theme";
import type { ScorePayload, View } from "../../state/store";
import { colourBar } from "../../ui/color-bar";
import { copyButton, table } from "../../ui/copy-button";
import { element, say } from "../../ui/element";
import { picking } from "../../ui/head-selection";
import { paneHeader } from "../../ui/pane-header";
import {
  byRank,
  headName,
  knownScores,
  scoreTitle,
  scoreValue,
  scoreWords,
} from "../../ui/score-format";
import { bestButtons } from "./best-heads";
import { shownScore } from "./grid-score";
import { cardView } from "./head-card";
import { cutCorners, paintMaps, paintValues } from "./paint-cells";

const MAPS = "";

/** Every layer x head, as a picture of its map or coloured by a score; under it what is known of one head. */
export const gridView: View = (container, store) => {
  const { layer, heads, score, meta } = store.traits;
  const { dark } = groundOf(container);
  const { shown: coloured, dispose: unpair } = shownScore(store);

  const tools = paneHeader(container, "Layers × heads");
  const chooser = element("select", {
    class: "bl-menu",
    "aria-label": "What the grid shows",
  });
  const copying = copyButton("Copy the numbers of the grid", () => {
    const shown = score.peek();
    if (!shown) return "";
    const line = (values: (number | null)[], l: number) => [
      String(l),
      ...values.map((v, head) =>
        v !== null && shown.categories?.length ? scoreValue(shown, l, head) : String(v ?? ""),
      ),
    ];
    const first = [scoreTitle(shown), ...columns.map((_, head) => String(head))];
    return table([first, ...shown.values.map(line)]);
  });
  tools.append(copying, element("span", { class: "bl-chooser" }, chooser));
  const canvas = element("canvas", { class: "bl-grid-canvas", "aria-hidden": "true" });
  const grid = element("div", {
    role: "grid",
    class: "bl-grid",
    dir: "ltr",
    "aria-label": "Layers by heads",
    "aria-multiselectable": true,
  });
  const frame = element("div", { class: "bl-grid-frame" }, canvas, grid);
  const legend = element("div", { class: "bl-grid-legend" });
  const readout = element("p", { class: "bl-readout", "aria-live": "polite" });
  const empty = element(
    "p",
    { class: "bl-empty" },
    "No attention yet: type a text to see its heads.",
  );
  const card = element("div", { class: "bl-card" });
  container.append(empty, frame, legend, readout, card);

  const shape = computed(() => `${meta.value.n_layers}x${meta.value.n_heads}`);
  let cells: HTMLElement[] = [];
  let columns: HTMLElement[] = [];
  let rows: HTMLElement[] = [];

  const build = () => {
    const { n_layers, n_heads } = meta.peek();
    const label = (role: string, n: number) =>
      element("span", { role, class: "bl-grid-label" }, element("span", {}, String(n)));
    columns = Array.from({ length: n_heads }, (_, head) => label("columnheader", head));
    rows = Array.from({ length: n_layers }, (_, l) => label("rowheader", l));
    cells = [];
    const lines = rows.map((name, l) => {
      const own = columns.map((_, head) =>
        element("div", {
          role: "gridcell",
          class: "bl-cell",
          tabindex: -1,
          "aria-label": `layer ${l}, head ${head}`,
          "aria-selected": "false",
          "data-index": l * n_heads + head,
        }),
      );
      cells.push(...own);
      return element("div", { role: "row", class: "bl-grid-row" }, name, ...own);
    });
    grid.style.gridTemplateColumns = `auto repeat(${n_heads}, minmax(0, 1fr))`;
    frame.style.setProperty("--bl-heads", String(n_heads));
    grid.toggleAttribute("data-dense", n_heads > 16);
    const top = element("div", { role: "row", class: "bl-grid-row" }, ...columns);
    grid.replaceChildren(top, ...lines);
  };

  const { inspected, choose, rove } = picking(
    store,
    grid,
    (index, key) => step(key, index, meta.peek().n_heads, cells.length),
    true,
  );
  const chooseHead = (layer: number, head: number) => choose({ layer, head }, false);

  chooser.addEventListener("change", () => {
    score.value = knownScores(store).find(({ name }) => name === chooser.value) ?? null;
  });

  const painter = surface(frame, (ratio) => {
    const bounds = frame.getBoundingClientRect();
    if (bounds.width === 0) return false;
    canvas.width = Math.round(bounds.width * ratio);
    canvas.height = Math.round(bounds.height * ratio);
    const context = canvas.getContext("2d");
    if (!context || canvas.width === 0 || canvas.height === 0) return;
    thinLabels(columns);
    const edge = (n: number) => Math.round(n * ratio);
    const across = columns.map((label) => {
      const { left, right } = label.getBoundingClientRect();
      return [edge(left - bounds.left), edge(right - bounds.left)] as const;
    });
    const down = rows.map((label) => {
      const { top, bottom } = label.getBoundingClientRect();
      return [edge(top - bounds.top), edge(bottom - bounds.top)] as const;
    });
    const boxes = down.flatMap(([y, bottom]) =>
      across.map(([x, right]) => ({ x, y, width: right - x, height: bottom - y })),
    );
    const image = context.createImageData(canvas.width, canvas.height);
    const colours = ramp(dark.peek());
    const { score, scale, thumbnails } = picture.peek();
    const colourOf = (value: number) => {
      if (score?.categories?.length)
        return score.categories[value] ? wordOf(categoryRgb(hueOf(score, value))) : colours[12]!;
      return colours[scale ? Math.round(255 * scale.at(value)) : 0]!;
    };
    if (score) paintValues(image, boxes, columns.length, score.values, colourOf, colours, edge(5));
    else if (thumbnails) paintMaps(image, boxes, thumbnails, colours);
    context.putImageData(image, 0, 0);
    cutCorners(context, boxes, edge(2));
    if (score || thumbnails) grid.dataset.painted = score ? score.name : "maps";
    else delete grid.dataset.painted;
  });

  const picture = computed(() => {
    const shown = coloured.value;
    const named = shown?.categories?.length;
    const scale = named ? null : shown ? linearScale(shown.values.flat()) : weightScale;
    return { score: shown, scale, thumbnails: shown ? null : store.grid() };
  });

  const stops = [
    painter.dispose,
    unpair,
    () => grid.replaceChildren(),
    effect(() => {
      shape.value;
      build();
      const none = cells.length === 0;
      empty.hidden = !none;
      for (const part of [frame, legend, readout, card, chooser]) part.hidden = none;
      painter.redraw();
    }),
    effect(() => {
      shape.value;
      const { n_heads } = meta.peek();
      const on = new Set(heads.value.map((head) => layer.value * n_heads + head));
      const selected = layer.value * n_heads + (store.selected.value ?? 0);
      for (const [index, cell] of cells.entries()) {
        const wanted = String(on.has(index));
        if (cell.getAttribute("aria-selected") !== wanted)
          cell.setAttribute("aria-selected", wanted);
        cell.toggleAttribute("data-current", on.has(index) && index === selected);
      }
      if (!grid.matches(":focus-within")) rove(selected, false);
    }),
    effect(() => {
      const { thumbnails, score } = picture.value;
      dark.value;
      frame.toggleAttribute("data-waiting", !score && !thumbnails);
      painter.redraw();
    }),
    effect(() => {
      const { score, scale } = picture.value;
      const bar =
        scale &&
        colourBar(scale, score ? score.unit : "attention", dark.value, score?.baseline ?? null);
      const note = score?.description
        ? [element("p", { class: "bl-note" }, score.description)]
        : [];
      const names = score?.categories?.length ? [kinds(score)] : [];
      const best = score && !score.categories?.length ? [bestButtons(score, chooseHead)] : [];
      legend.replaceChildren(...(bar ? [bar] : []), ...best, ...names, ...note);
      chooser.title = score?.description ?? "";
    }),
    effect(() => {
      const own = score.value;
      copying.hidden = own === null;
      const options = knownScores(store).map((known) => ({
        value: known.name,
        text: scoreTitle(known),
      }));
      chooser.replaceChildren(
        element("option", { value: MAPS }, "attention maps"),
        ...options.map(({ value, text }) => element("option", { value }, text)),
      );
      chooser.value = own?.name ?? MAPS;
    }),
    effect(() => {
      const at = inspected.value;
      if (!at) {
        const joins =
          store.pin.value && "Shift-click a second token to see which heads join the two.";
        return say(readout, joins || "Click a cell to choose its head, shift-click to add it.");
      }
      const shown = coloured.value
        ? [coloured.value]
        : byRank(knownScores(store), at.layer, at.head).slice(0, 1);
      const words = shown.map((known) => scoreWords(known, at.layer, at.head));
      say(readout, [headName(at.layer, at.head), ...words].join(" · "));
    }),
    cardView(card, store),
  ];
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};

/** Which of the colours a category has: those without a name have none. */
function hueOf({ categories = [] }: ScorePayload, value: number): number {
  return categories.slice(0, value).filter(Boolean).length;
}

/** What the colours of categories mean, and how many heads have each. */
function kinds(score: ScorePayload): HTMLElement {
  const values = score.values.flat();
  const names = (score.categories ?? []).map((name, value) => {
    const dot = element("i", { class: "bl-dot" });
    if (name) dot.style.background = css(categoryRgb(hueOf(score, value)));
    const count = values.filter((one) => one === value).length;
    return element(
      "li",
      {},
      dot,
      `${name || "none"} `,
      element("span", { class: "bl-soft" }, String(count)),
    );
  });
  return element("ul", { class: "bl-kinds" }, ...names);
}

/** Where a key leads from a cell; null for keys that are not of a grid. */
export function step(key: string, index: number, columns: number, size: number): number | null {
  const column = index % columns;
  const moves: Record<string, number> = {
    ArrowLeft: column > 0 ? index - 1 : index,
    ArrowRight: column < columns - 1 ? index + 1 : index,
    ArrowUp: index - columns,
    ArrowDown: index + columns,
    Home: index - column,
    End: index - column + columns - 1,
    PageUp: column,
    PageDown: size - columns + column,
  };
  const next = moves[key];
  if (next === undefined) return null;
  return next < 0 || next >= size ? index : next;
}

/** Of column numbers that would run into each other, keeps every second, fourth, eighth... */
function thinLabels(labels: HTMLElement[]): void {
  const width = labels[0]?.clientWidth ?? 0;
  let every = 1;
  while (width * every < 18 && every < labels.length) every *= 2;
  for (const [i, label] of labels.entries()) label.toggleAttribute("data-thin", i % every !== 0);
}
