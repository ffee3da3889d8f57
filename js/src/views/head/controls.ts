import { effect, type ReadonlySignal } from "@preact/signals-core";
import type { Level, SegmentFilter, Special, Store } from "../../state/store";
import { choice, menu, type Option, plainButton, type Stops } from "../../ui/controls";
import { element, say } from "../../ui/element";

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Layer, and kind of attention where a model has several. */
export function layerTools(store: Store, stops: Stops): Node[] {
  const { layer, kind, meta } = store.traits;
  const named = (name: string): Option<string> => ({ value: name, text: name });
  const layers = () => upTo(meta.value.n_layers).map((i) => named(String(i)));
  const kinds = menu(
    stops,
    "attention",
    () => meta.value.kinds.map(named),
    () => kind.value,
    (to) => {
      kind.value = to;
    },
  );
  const go = (to: number) => {
    layer.value = Math.max(0, Math.min(meta.peek().n_layers - 1, to));
  };
  const before = plainButton("‹", "Layer before (key [)", () => go(layer.peek() - 1));
  const after = plainButton("›", "Layer after (key ])", () => go(layer.peek() + 1));
  const chosen = menu(
    stops,
    "layer",
    layers,
    () => String(layer.value),
    (to) => go(Number(to)),
  );
  stops.push(
    effect(() => {
      kinds.hidden = meta.value.kinds.length < 2;
      before.disabled = layer.value <= 0;
      after.disabled = layer.value >= meta.value.n_layers - 1;
    }),
  );
  return [kinds, element("span", {}, chosen, before, after)];
}

/** One swatch a head: its number and colour; filled when its lines are shown. */
export function swatches(store: Store, stops: Stops): HTMLElement {
  const { heads, meta } = store.traits;
  const bar = element("div", { class: "bl-swatches", role: "toolbar", "aria-label": "Heads" });
  const all = element("button", { type: "button", class: "bl-plain" });
  all.addEventListener("click", () => {
    const on = heads.peek();
    const off = upTo(meta.peek().n_heads).filter((head) => !on.includes(head));
    heads.value = off.length === 0 ? [] : [...off, ...on];
  });
  let buttons: HTMLButtonElement[] = [];
  stops.push(
    effect(() => {
      buttons = upTo(meta.value.n_heads).map((head) => swatch(store, head));
      bar.replaceChildren(...buttons, all);
    }),
    effect(() => {
      const on = heads.value;
      const selected = store.selected.value;
      const count = meta.value.n_heads;
      for (const [head, button] of buttons.entries()) {
        button.setAttribute("aria-pressed", String(on.includes(head)));
        button.toggleAttribute("data-selected", on.length > 1 && head === selected);
        button.tabIndex = head === (selected ?? 0) ? 0 : -1;
      }
      say(all, on.length === count ? "none" : "all");
      all.setAttribute("aria-label", on.length === count ? "Show no head" : "Show all heads");
    }),
  );
  bar.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const stations = [...buttons, all];
    stations[stations.indexOf(event.target as HTMLButtonElement) + step]?.focus();
    event.preventDefault();
  });
  return bar;
}

function swatch(store: Store, head: number): HTMLButtonElement {
  const { heads } = store.traits;
  const button = element(
    "button",
    {
      type: "button",
      class: "bl-swatch",
      style: `--bl-own:var(--bl-head-${head},var(--bl-soft));--bl-on-own:var(--bl-on-head-${head})`,
      "aria-label": `Head ${head}`,
      "aria-keyshortcuts": "i",
      title: `Head ${head}: click to show or hide, double-click (key i) to show it alone`,
    },
    String(head),
  );
  const alone = () => {
    heads.value = [head];
  };
  button.addEventListener("click", () => {
    const on = heads.peek();
    heads.value = on.includes(head) ? on.filter((other) => other !== head) : [...on, head];
  });
  button.addEventListener("dblclick", alone);
  button.addEventListener("keydown", (event) => {
    if (event.key === "i") alone();
  });
  return button;
}

const FILTERS: Option<SegmentFilter>[] = [
  { value: "all", text: "All", title: "All lines" },
  { value: "a->a", text: "A→A", title: "From the first text to itself" },
  { value: "a->b", text: "A→B", title: "From the first text to the second" },
  { value: "b->a", text: "B→A", title: "From the second text to the first" },
  { value: "b->b", text: "B→B", title: "From the second text to itself" },
];

const SPECIALS: Option<Special>[] = [
  { value: "show", text: "shown" },
  { value: "hide", text: "hidden" },
  { value: "renormalise", text: "hidden, rest renormalised" },
];

const LEVELS: Option<Level>[] = [
  { value: "token", text: "token" },
  { value: "word", text: "word" },
];

const NORMS: Option<"" | "value">[] = [
  { value: "", text: "weights" },
  { value: "value", text: "value norms" },
];

export function filters(store: Store, stops: Stops): HTMLElement {
  const { segment_filter, special, level, norm } = store.traits;
  const segments = choice(
    stops,
    "Texts",
    FILTERS,
    () => segment_filter.value,
    (to) => {
      segment_filter.value = to;
    },
  );
  stops.push(
    effect(() => {
      segments.hidden = !store.paired.value;
    }),
  );
  const specials = menu(
    stops,
    "specials",
    () => SPECIALS,
    () => special.value,
    (to) => {
      special.value = to;
    },
  );
  const levels = menu(
    stops,
    "level",
    () => LEVELS,
    () => level.value,
    (to) => {
      level.value = to;
    },
  );
  const norms = menu(
    stops,
    "lines",
    () => NORMS,
    () => norm.value ?? "",
    (to) => {
      norm.value = to || null;
    },
  );
  return element("div", { class: "bl-controls" }, segments, specials, levels, norms);
}

/** What the picture leaves out, as shares of the weight from 0 to 1; null where not known yet. */
export interface LeftOut {
  weak: number | null;
  special: number | null;
}

/** The smallest weight drawn, and what is not drawn. */
export function foot(store: Store, leftOut: ReadonlySignal<LeftOut>, stops: Stops): HTMLElement {
  const { min_weight, special } = store.traits;
  const slider = element("input", { type: "range", min: 0, max: 100 });
  const least = element("output");
  const words = element("p", { class: "bl-left-out" });
  slider.addEventListener("input", () => {
    min_weight.value = weightAt(Number(slider.value) / 100);
  });
  stops.push(
    effect(() => {
      const position = Math.round(positionOf(min_weight.value) * 100);
      if (Number(slider.value) !== position) slider.value = String(position);
      slider.setAttribute("aria-valuetext", `weight ${weightText(min_weight.value)}`);
      say(least, weightText(min_weight.value));
    }),
    effect(() => {
      const { weak, special: toSpecial } = leftOut.value;
      const parts: string[] = [];
      if (weak !== null && min_weight.value > 0) {
        parts.push(
          `lines under ${weightText(min_weight.value)} hidden: ${percent(weak)} of the weight`,
        );
      }
      if (toSpecial !== null && special.value !== "show") {
        const rest = special.value === "renormalise" ? ", the rest scaled to 1" : "";
        parts.push(`special tokens hidden: ${percent(toSpecial)} of the weight${rest}`);
      }
      say(words, parts.join(" · "));
    }),
  );
  const label = element("label", { class: "bl-slider" }, "lines from", slider, least);
  return element("div", { class: "bl-foot" }, label, words);
}

/** The slider is finer where weights are small: its square is the weight. */
function weightAt(position: number): number {
  return Math.round(position * position * 10_000) / 10_000;
}

function positionOf(weight: number): number {
  return Math.sqrt(Math.min(1, Math.max(0, weight)));
}

function weightText(weight: number): string {
  return String(Number(weight.toFixed(weight < 0.1 ? 3 : 2)));
}

function percent(share: number): string {
  const hundredths = share * 100;
  if (hundredths > 0 && hundredths < 1) return "under 1%";
  return `${Math.round(hundredths)}%`;
}
