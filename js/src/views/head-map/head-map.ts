import { computed, effect, signal } from "@preact/signals-core";
import { linearScale } from "../../drawing/color-scale";
import { categoryRgb, css, oklch } from "../../drawing/colors";
import { groundOf } from "../../drawing/theme";
import type { ScorePayload, View } from "../../state/store";
import { choice, menu, type Stops } from "../../ui/controls";
import { element, say } from "../../ui/element";
import { type Head, picking } from "../../ui/head-selection";
import { decimal, tick } from "../../ui/number-format";
import { paneHeader } from "../../ui/pane-header";
import { headName, knownScores, scoreTitle, scoreWords } from "../../ui/score-format";
import { acrossLayers, alike, byLayer, layerMeans, type Place2, toward } from "./layout";

type Placing = "alike" | "layer";
type Colouring = "behaviour" | "layer";

const NAMES: Record<string, string> = { "": "none of these", cls: "[CLS]", sep: "[SEP]" };
const nameOf = (category: string) => NAMES[category] ?? category;

/** Every head a point: near the heads that behave alike, or by layer and the value of a score. */
export const mapView: View = (container, store) => {
  const { layer, heads, score, meta, mapped_heads: mapped } = store.traits;
  const { dark } = groundOf(container);
  const stops: Stops = [];
  const wanted = signal<Placing | null>(null);
  const placing = computed<Placing>(() => wanted.value ?? (mapped.value ? "alike" : "layer"));
  const colouring = signal<Colouring>("behaviour");
  /** The score that is shown by layer: one of numbers. */
  const numbers = computed(() => (score.value?.categories?.length ? null : score.value));

  const tools = paneHeader(container, "Head map");
  const coloursBy = menu<Colouring>(
    stops,
    "colour",
    () => [
      { value: "behaviour", text: "behaviour" },
      { value: "layer", text: "layer" },
    ],
    () => colouring.value,
    (value) => {
      colouring.value = value;
    },
  );
  const scores = menu(
    stops,
    "score",
    () => {
      if (placing.value !== "layer") return [];
      const known = knownScores(store).filter(({ categories }) => !categories?.length);
      const options = known.map((one) => ({ value: one.name, text: scoreTitle(one) }));
      return numbers.value ? options : [{ value: "", text: "choose" }, ...options];
    },
    () => numbers.value?.name ?? "",
    (name) => {
      score.value = knownScores(store).find((known) => known.name === name) ?? score.peek();
    },
  );
  const where = choice<Placing>(
    stops,
    "Where points lie",
    [
      { value: "alike", text: "alike", title: "Near the heads that attend alike" },
      { value: "layer", text: "by layer", title: "By layer, and the value of a score" },
    ],
    () => placing.value,
    (value) => {
      wanted.value = value;
    },
  );
  tools.append(coloursBy, scores, where);

  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.setAttribute("viewBox", "0 0 1 1");
  lines.setAttribute("preserveAspectRatio", "none");
  lines.setAttribute("aria-hidden", "true");
  const list = element("div", {
    class: "bl-map-points",
    role: "listbox",
    "aria-label": "Heads",
    "aria-multiselectable": true,
  });
  const axes = element("div", { class: "bl-map-axes", "aria-hidden": "true" });
  const plot = element("div", { class: "bl-map" }, axes, lines, list);
  const empty = element("p", { class: "bl-empty" });
  const legend = element("ul", { class: "bl-kinds" });
  const readout = element("p", { class: "bl-readout", "aria-live": "polite" });
  const nearest = element("p", { class: "bl-note bl-best" });
  container.append(empty, plot, legend, readout, nearest);

  const shape = computed(() => `${meta.value.n_layers}x${meta.value.n_heads}`);
  let points: HTMLElement[] = [];
  const scale = computed(() => (numbers.value ? linearScale(numbers.value.values.flat()) : null));
  const places = computed<Place2[]>(() => {
    const [map, shown, reach] = [mapped.value, numbers.value, scale.value];
    if (placing.value === "alike") return map ? alike(map) : [];
    return shown && reach ? byLayer(shown, reach) : [];
  });

  const { inspected, headAt, choose, rove } = picking(
    store,
    list,
    (index, key) => toward(places.peek(), index, key),
    false,
  );

  const colourOf = (index: number): string => {
    const now = headAt(index);
    if (placing.value === "layer") return "var(--bl-focus)";
    if (colouring.value === "layer") return layerColour(now.layer, meta.value.n_layers, dark.value);
    const label = mapped.value?.labels[now.layer]?.[now.head] ?? 0;
    return label ? css(categoryRgb(label - 1)) : "var(--bl-soft)";
  };
  const categoryOf = (now: Head): string => {
    const map = mapped.value;
    return map?.categories[map.labels[now.layer]?.[now.head] ?? 0] ?? "";
  };

  stops.push(
    effect(() => {
      shape.value;
      const { n_layers, n_heads } = meta.peek();
      points = Array.from({ length: n_layers * n_heads }, (_, index) => {
        const now = headAt(index);
        const name = `${now.layer}-${now.head}`;
        return element("div", {
          class: "bl-point",
          role: "option",
          tabindex: -1,
          "data-index": index,
          "data-name": name,
          "aria-label": `layer ${now.layer}, head ${now.head}`,
          "aria-selected": "false",
        });
      });
      list.replaceChildren(...points);
    }),
    effect(() => {
      shape.value;
      const all = places.value;
      for (const [index, point] of points.entries()) {
        const place = all[index] ?? null;
        point.hidden = place === null;
        if (!place) continue;
        point.style.left = `${100 * place.x}%`;
        point.style.top = `${100 * place.y}%`;
        point.style.background = colourOf(index);
      }
      plot.hidden = !all.some(Boolean);
      plot.dataset.placing = placing.value;
      coloursBy.hidden = placing.value !== "alike" || !mapped.value;
      scores.hidden = placing.value !== "layer";
    }),
    effect(() => {
      shape.value;
      const { n_heads } = meta.peek();
      const on = new Set(heads.value.map((head) => layer.value * n_heads + head));
      for (const [index, point] of points.entries())
        point.setAttribute("aria-selected", String(on.has(index)));
      const selected = layer.value * n_heads + (store.selected.value ?? 0);
      const reachable = points[selected]?.hidden ? points.findIndex((p) => !p.hidden) : selected;
      places.value;
      if (!list.matches(":focus-within")) rove(reachable, false);
    }),
    effect(() => {
      const [shown, reach] = [numbers.value, scale.value];
      const drawn = placing.value === "layer" && shown && reach;
      lines.replaceChildren(...(drawn ? paths(shown, reach.at) : []));
      axes.replaceChildren(...(drawn ? ticks(shown, reach) : []));
    }),
    effect(() => {
      const byBehaviour = placing.value === "alike" && colouring.value === "behaviour";
      const categories = byBehaviour ? (mapped.value?.categories ?? []) : [];
      const labels = mapped.value?.labels.flat() ?? [];
      const kinds = categories.flatMap((name, label) => {
        const count = labels.filter((one) => one === label).length;
        if (!count) return [];
        const dot = element("i", { class: "bl-dot" });
        dot.style.background = label ? css(categoryRgb(label - 1)) : "var(--bl-soft)";
        const many = element("span", { class: "bl-soft" }, String(count));
        return [element("li", {}, dot, `${nameOf(name)} `, many)];
      });
      legend.replaceChildren(...kinds);
    }),
    effect(() => {
      const missing = !meta.value.n_layers
        ? "No attention yet: type a text to see its heads."
        : placing.value === "alike"
          ? mapped.value
            ? ""
            : "No map of heads yet: view.head_map(scan) makes one, of a scan with distances."
          : numbers.value
            ? ""
            : "Choose a score to see the values of all heads by layer.";
      say(empty, missing);
      empty.hidden = !missing;
    }),
    effect(() => {
      const now = inspected.value;
      if (!now) {
        say(readout, "Click a point to choose its head, shift-click to add one of its layer.");
        return;
      }
      const category = categoryOf(now);
      const words = score.value ? [scoreWords(score.value, now.layer, now.head)] : [];
      const behaviour = mapped.value && category ? [nameOf(category)] : [];
      say(readout, [headName(now.layer, now.head), ...behaviour, ...words].join(" · "));
    }),
    effect(() => {
      const head = store.selected.value;
      const map = mapped.value;
      nearest.hidden = true;
      if (placing.value !== "alike" || !map || head === null) return;
      const asked = { kind: "nearest", layer: layer.value, head } as const;
      const answer = store.answer(asked);
      if (answer?.status !== "ok") return;
      const found = answer.content.nearest;
      const buttons = found.map(([l, h, distance]) => {
        const label = `Choose head ${l}-${h}, ${decimal(distance)}`;
        const attributes = { type: "button", class: "bl-plain", "aria-label": label };
        const name = element("b", {}, `${l}-${h}`);
        const button = element("button", attributes, name, ` ${decimal(distance)}`);
        button.addEventListener("click", () => choose({ layer: l, head: h }, false));
        return button;
      });
      nearest.replaceChildren(`nearest to ${layer.value}-${head} `, ...buttons);
      nearest.title = `Jensen-Shannon distance, summed over the tokens of ${map.texts} texts`;
      nearest.hidden = false;
    }),
  );
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};

/** Early layers far from the ground, late ones near it. */
function layerColour(layer: number, layers: number, dark: boolean): string {
  const t = layers > 1 ? layer / (layers - 1) : 0;
  const lightness = dark ? 0.5 + 0.4 * t : 0.35 + 0.42 * t;
  return css(oklch(lightness, 0.13, 290 - 190 * t));
}

/** The mean of each layer as a line, and even attention as a dashed one. */
function paths(score: ScorePayload, at: (value: number) => number): SVGElement[] {
  const layers = score.values.length;
  const means = layerMeans(score).flatMap((mean, layer) =>
    mean === null ? [] : [`${acrossLayers(layer, layers)} ${1 - at(mean)}`],
  );
  const made = [path("bl-map-mean", `M${means.join("L")}`)];
  const even = score.baseline;
  if (even !== null) {
    const y = 1 - at(even);
    if (y >= 0 && y <= 1) made.push(path("bl-map-even", `M0 ${y}H1`));
  }
  return made;
}

function path(name: string, d: string): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("class", name);
  made.setAttribute("d", d);
  return made;
}

function ticks(
  score: ScorePayload,
  scale: { ticks: { value: number; at: number }[] },
): HTMLElement[] {
  const up = scale.ticks.map(({ value, at }) => {
    const label = element("span", { class: "bl-map-up" }, tick(value));
    label.style.top = `${100 * (1 - at)}%`;
    return label;
  });
  const layers = score.values.length;
  const every = Math.ceil(layers / 16);
  const across = score.values.flatMap((_, layer) => {
    if (layer % every) return [];
    const label = element("span", { class: "bl-map-across" }, String(layer));
    label.style.left = `${100 * acrossLayers(layer, layers)}%`;
    return [label];
  });
  return [...up, ...across];
}
