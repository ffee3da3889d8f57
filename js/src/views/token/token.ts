import { computed, effect, signal } from "@preact/signals-core";
import { surface } from "../../drawing/repaint";
import { groundOf } from "../../drawing/theme";
import type { Place, Side, View } from "../../state/store";
import { choice, type Stops } from "../../ui/controls";
import { copyButton, table } from "../../ui/copy-button";
import { element, say } from "../../ui/element";
import { followLook } from "../../ui/focused-weights";
import { waiting } from "../../ui/loading-mark";
import { paneHeader } from "../../ui/pane-header";
import { RunningText } from "../../ui/token-text";
import { matrixView } from "./matrix";
import { order, type Ranked, Ranking, shades } from "./ranking";

const FEW = 8;
const MANY = 100;

/** Where the focused token's attention goes or comes from: over the text, as a ranked list, and in the full matrix. */
export const tokenView: View = (container, store) => {
  const { meta, side, special, heads, layer, text, text_pair } = store.traits;
  const { dark } = groundOf(container);
  const { looked, dispose: unlook } = followLook(store);
  const many = signal(false);
  const crossed = computed(() => meta.value.to !== null);
  const otherOf = (one: Side): Side => (one === "from" ? "to" : "from");
  const here = computed(() => store.focus.value?.side ?? side.value);
  /** The items that the weights belong to: the other side's, or with no token focused all that receive. */
  const across = computed(() => store.items[store.focus.value ? otherOf(here.value) : "to"].value);

  const tools = paneHeader(container, "Token");
  const stops: Stops = [];
  const sides = choice<Side>(
    stops,
    "Direction",
    [
      { value: "from", text: "attends to" },
      { value: "to", text: "attended from" },
    ],
    () => here.value,
    (one) => {
      side.value = one;
    },
  );
  tools.append(sides);

  const caption = element("p", { class: "bl-caption" });
  const spoken = element("p", { class: "bl-unseen", "aria-live": "polite" });
  const hover = (index: number | null) => {
    store.page.hover.value = index === null ? null : { side: side.peek(), index };
  };
  const chosen = new RunningText("Text: choose a token", {
    onHover: hover,
    onPin: (index, join) => {
      if (join && index !== null) {
        void store.join({ side: crossed.peek() ? side.peek() : "from", index });
        return;
      }
      const again = index !== null && store.pin.peek()?.index === index;
      store.setPin(index === null || again ? null : { side: side.peek(), index });
    },
  });
  /** Where the two sides are different texts, the shades lie on the other one. */
  const reached = new RunningText("The other text", null);
  const ranking = new Ranking("Tokens by attention, largest first");
  const more = element("button", {
    type: "button",
    class: "bl-plain",
  });
  more.addEventListener("click", () => {
    many.value = !many.value;
  });
  const copying = copyButton("Copy all weights as text", () => {
    const now = looked.peek();
    if (!now) return "";
    const items = across.peek();
    const ranks = order(now.mean, hidden());
    const lines = ranks.map((i) => [
      items.label[i] ?? "",
      String(i),
      ...now.heads.map(({ weights }) => weights[i]!.toFixed(6)),
      now.mean[i]!.toFixed(6),
    ]);
    const title = ["token", "index", ...now.heads.map(({ name }) => name), "mean"];
    return table([[caption.textContent ?? ""], title, ...lines]);
  });
  const empty = element("p", { class: "bl-empty" });
  const list = element("div", { class: "bl-ranking-frame" }, ranking.element);
  const below = element("div", { class: "bl-pane-tools" }, more, copying);
  const matrix = element("div", { class: "bl-matrix" });
  const best = element("div", { class: "bl-ranked" }, list, below);
  container.append(caption, spoken, chosen.element, reached.element, empty, best, matrix);

  const hidden = () => (special.value === "show" ? null : across.value.special);
  const ranked = computed((): Ranked | null => {
    const now = looked.value;
    if (!now) return null;
    return { ...now, labels: across.value.label, order: order(now.mean, hidden()) };
  });

  /** While other weights are on their way the last ones stay, dimmed: nothing jumps. */
  const shown = signal(false);

  const wait = waiting(container);
  const painter = surface(container, () => {
    const now = ranked.peek();
    const night = dark.peek();
    const target = crossed.peek() ? reached : chosen;
    const other = crossed.peek() ? chosen : reached;
    wait(now === null);
    if (!now) {
      if (heads.peek().length === 0) target.shade([]);
      delete container.dataset.painted;
      return;
    }
    other.shade([]);
    const drawn = target.shade(shades(now, night));
    ranking.show(now, many.peek() ? MANY : FEW, night);
    shown.value = true;
    container.dataset.painted = `${nameOf(looked.peek()?.place ?? null)}${now.exact ? "" : " near"}`;
    return drawn;
  });

  stops.push(
    unlook,
    painter.dispose,
    effect(() => {
      const texts = [text.value, text_pair.value];
      // of two different texts neither is surely the one that a side shows
      chosen.show(
        store.items[crossed.value ? side.value : "from"].value,
        crossed.value ? [] : texts,
      );
      reached.element.hidden = !crossed.value;
      if (crossed.value) reached.show(store.items[otherOf(side.value)].value, []);
      painter.redraw();
    }),
    effect(() => {
      ranked.value;
      dark.value;
      many.value;
      painter.redraw();
    }),
    effect(() => {
      // the items are read so that a text shown anew is marked anew
      store.items.from.value;
      const pin = store.pin.value;
      const pointed = store.page.hover.value;
      const own = (at: Place | null) =>
        at && (!crossed.value || at.side === side.value) ? at.index : null;
      chosen.mark(own(pin), own(pointed));
    }),
    effect(() => {
      const pin = store.pin.value;
      if (pin) chosen.reveal(pin.index);
    }),
    effect(() => {
      const place = store.focus.value;
      const label = place ? (store.items[place.side].value.label[place.index] ?? "") : "";
      const words = place
        ? `“${label}” ${place.side === "from" ? "attends to" : "is attended from"}`
        : "Attention that each token receives";
      caption.textContent = caption.title = words + headWords(layer.value, heads.value);
    }),
    effect(() => {
      const known = ranked.value;
      const none = heads.value.length === 0;
      const blank = store.items.from.value.size === 0;
      caption.hidden = blank;
      sides.hidden = matrix.hidden = blank;
      const silent = store.kernel.value === "silent";
      empty.hidden = !blank && !none && (known !== null || (shown.value && !silent));
      list.hidden = below.hidden = !empty.hidden;
      empty.textContent = blank
        ? "No text yet: type one to see where its tokens look."
        : none
          ? "Switch a head on to see where its attention goes."
          : silent
            ? "Weights come with a running kernel."
            : "Weights are on their way.";
      const longer = (known?.order.length ?? 0) > FEW;
      more.hidden = !longer;
      more.textContent = many.value ? "fewer" : "more";
      more.setAttribute("aria-expanded", String(many.value));
    }),
    effect(() => {
      const now = ranked.value;
      if (!now?.exact) return;
      const best = now.order.slice(0, 3).map((i) => `${now.labels[i]} ${now.mean[i]!.toFixed(3)}`);
      say(spoken, `${caption.textContent}: ${best.join(", ")}`);
    }),
    matrixView(matrix, store),
  );
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};

function nameOf(place: Place | null): string {
  return place ? `${place.side} ${place.index}` : "received";
}

/** ", head 2-0" */
function headWords(layer: number, heads: readonly number[]): string {
  if (heads.length === 0) return "";
  if (heads.length > 4) return `, mean of ${heads.length} heads of layer ${layer}`;
  const names = heads.map((head) => `${layer}-${head}`).join(", ");
  return `${heads.length > 1 ? ", mean of heads" : ", head"} ${names}`;
}
