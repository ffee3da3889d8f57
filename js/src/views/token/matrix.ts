import { computed, effect, signal } from "@preact/signals-core";
import { decoded, remaining, withoutSpecials } from "../../attention/decode";
import { ramp } from "../../drawing/color-scale";
import { paintMap } from "../../drawing/heatmap";
import { surface } from "../../drawing/repaint";
import { groundOf } from "../../drawing/theme";
import type { View } from "../../state/store";
import { element, say } from "../../ui/element";
import { waiting } from "../../ui/loading-mark";
import { decimal } from "../../ui/number-format";
import { headName } from "../../ui/score-format";

interface Cell {
  from: number;
  to: number;
}

/** Milliseconds that a cell is pointed at before its exact weight is asked for. */
const REST = 150;

/** The selected head's whole map, with a crosshair on what is looked at; a click pins the token of its row or column. */
export const matrixView: View = (container, store) => {
  const { layer, side, special } = store.traits;
  const { cell, hover } = store.page;
  const { dark } = groundOf(container);
  const rested = signal<Cell | null>(null);

  const title = element("h3", { class: "bl-subtitle" });
  const axes = element("span", { class: "bl-soft" }, "from ↓ to →");
  const canvas = element("canvas", { class: "bl-matrix-canvas", "aria-hidden": "true" });
  const band = (kind: string) => element("div", { class: `bl-band bl-band-${kind}`, hidden: true });
  const bands = { row: band("row"), column: band("column"), pin: band("pin") };
  const splits = element("div", { class: "bl-splits", "aria-hidden": "true" });
  const plot = element(
    "div",
    {
      class: "bl-matrix-plot",
      dir: "ltr",
      role: "application",
      "aria-roledescription": "heat map",
      tabindex: 0,
    },
    canvas,
    splits,
    ...Object.values(bands),
  );
  const readout = element("p", { class: "bl-readout", "aria-live": "polite" });
  const empty = element("p", { class: "bl-empty" });
  container.append(element("div", { class: "bl-pane-header" }, title, axes), empty, plot, readout);

  const size = computed(() => ({
    rows: store.items.from.value.size,
    columns: store.items.to.value.size,
  }));
  /** The codes as drawn: special tokens blank where they are hidden. */
  const drawn = computed(() => {
    const head = store.selected.value;
    const codes = head === null ? null : store.block(layer.value, head);
    const map = { codes: codes ?? new Uint8Array(), ...size.value };
    if (!codes || codes.length !== map.rows * map.columns) return null;
    const specialTo = store.items.to.value.special;
    if (special.value === "show") return { ...map, left: null };
    const left = special.value === "renormalise" ? remaining(map, specialTo) : null;
    const shown = withoutSpecials(map, store.items.from.value.special, specialTo, left);
    return { ...map, codes: shown, left };
  });

  const point = (at: Cell | null) => {
    cell.value = at;
    hover.value = at && { side: side.peek(), index: at[side.peek()] };
  };
  const under = (event: PointerEvent | MouseEvent): Cell => {
    const box = plot.getBoundingClientRect();
    const { rows, columns } = size.peek();
    const within = (share: number, n: number) =>
      Math.max(0, Math.min(n - 1, Math.floor(share * n)));
    return {
      from: within((event.clientY - box.top) / box.height, rows),
      to: within((event.clientX - box.left) / box.width, columns),
    };
  };
  const pin = (at: Cell) => store.setPin({ side: side.peek(), index: at[side.peek()] });

  plot.addEventListener("pointermove", (event) => {
    const at = under(event);
    const was = cell.peek();
    if (was?.from !== at.from || was.to !== at.to) point(at);
  });
  plot.addEventListener("pointerleave", () => point(null));
  plot.addEventListener("click", (event) => pin(under(event)));
  plot.addEventListener("focus", () => {
    if (cell.peek() || !plot.matches(":focus-visible")) return;
    const pinned = store.pin.peek();
    point({ from: 0, to: 0, ...(pinned ? { [pinned.side]: pinned.index } : {}) });
  });
  plot.addEventListener("blur", () => point(null));
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cell.peek() ?? { from: 0, to: 0 };
    const next = move(event.key, at, size.peek());
    if (event.key === "Enter" || event.key === " ") pin(at);
    else if (event.key === "Escape") store.setPin(null);
    else if (next) point(next);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** While another map is on its way the last one stays, dimmed. */
  const shown = signal(false);

  const wait = waiting(plot);
  const painter = surface(plot, (ratio, box) => {
    const map = drawn.peek();
    wait(map === null);
    if (!map) {
      delete plot.dataset.painted;
      return;
    }
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const context = canvas.getContext("2d");
    if (!context || canvas.width === 0 || canvas.height === 0) return;
    const image = context.createImageData(canvas.width, canvas.height);
    const whole = { x: 0, y: 0, width: image.width, height: image.height };
    paintMap(image, whole, map.codes, map.rows, map.columns, ramp(dark.peek()));
    context.putImageData(image, 0, 0);
    shown.value = true;
    plot.dataset.painted = `${layer.peek()}-${store.selected.peek()}`;
  });

  /** Lays a band over one row or column; half a per cent at least, so that it is seen among 512. */
  const lay = (target: HTMLElement, index: number | null, n: number, along: "top" | "left") => {
    target.hidden = index === null || index >= n;
    if (index === null) return;
    const extent = along === "top" ? "height" : "width";
    target.style.cssText = `${along}:${(100 * index) / n}%;${extent}:${Math.max(100 / n, 0.5)}%`;
    target.dataset.along = along;
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  const stops = [
    painter.dispose,
    () => clearTimeout(timer),
    effect(() => {
      const { rows, columns } = size.value;
      plot.style.aspectRatio = rows && columns ? `${columns} / ${rows}` : "";
      const lines = [
        ...splitsOf(store.items.to.value.segment).map((at) => ({ left: at, top: null })),
        ...splitsOf(store.items.from.value.segment).map((at) => ({ left: null, top: at })),
      ];
      splits.replaceChildren(
        ...lines.map(({ left, top }) => {
          const line = element("i", { "data-along": left === null ? "top" : "left" });
          if (left !== null) line.style.left = `${100 * left}%`;
          if (top !== null) line.style.top = `${100 * top}%`;
          return line;
        }),
      );
    }),
    effect(() => {
      drawn.value;
      dark.value;
      painter.redraw();
    }),
    effect(() => {
      const head = store.selected.value;
      const { rows, columns } = size.value;
      title.textContent = head === null ? "Matrix" : headName(layer.value, head);
      const blank = head === null || rows * columns === 0;
      const silent = store.kernel.value === "silent";
      empty.hidden = !blank && (drawn.value !== null || (shown.value && !silent));
      plot.hidden = readout.hidden = axes.hidden = !empty.hidden;
      empty.textContent = blank
        ? "Switch a head on to see its whole matrix."
        : silent
          ? "The matrix comes with a running kernel."
          : "The matrix is on its way.";
      plot.setAttribute(
        "aria-label",
        `${title.textContent}: attention from ${rows} to ${columns} ${store.traits.level.value}s`,
      );
    }),
    effect(() => {
      const { rows, columns } = size.value;
      const at = cell.value;
      const look = hover.value;
      lay(bands.row, at?.from ?? (look?.side === "from" ? look.index : null), rows, "top");
      lay(bands.column, at?.to ?? (look?.side === "to" ? look.index : null), columns, "left");
    }),
    effect(() => {
      const { rows, columns } = size.value;
      const pinned = store.pin.value;
      if (pinned?.side === "to") lay(bands.pin, pinned.index, columns, "left");
      else lay(bands.pin, pinned?.index ?? null, rows, "top");
    }),
    effect(() => {
      const at = cell.value;
      clearTimeout(timer);
      rested.value = null;
      if (at) {
        timer = setTimeout(() => {
          rested.value = at;
        }, REST);
      }
    }),
    effect(() => {
      const at = cell.value;
      const map = drawn.value;
      const head = store.selected.value;
      if (!at || !map || head === null || at.from >= map.rows || at.to >= map.columns) {
        say(readout, "Point at a cell for its weight, click it to pin its token.");
        return;
      }
      const labels = [store.items.from.value.label[at.from], store.items.to.value.label[at.to]];
      const near = decoded[map.codes[at.from * map.columns + at.to]!]!;
      const row =
        rested.value === at
          ? store.row({ layer: layer.value, heads: [head], index: at.from, side: "from" })
          : null;
      const away =
        special.value !== "show" &&
        (store.items.from.value.special[at.from] || store.items.to.value.special[at.to]);
      const words = away ? "hidden" : row ? decimal(row.data[at.to]!) : `≈${near.toFixed(2)}`;
      say(readout, `${labels[0]} → ${labels[1]}  ${words}`);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};

/** Where a key leads from a cell; null for other keys. */
export function move(
  key: string,
  at: Cell,
  { rows, columns }: { rows: number; columns: number },
): Cell | null {
  const moves: Record<string, Cell> = {
    ArrowUp: { from: at.from - 1, to: at.to },
    ArrowDown: { from: at.from + 1, to: at.to },
    ArrowLeft: { from: at.from, to: at.to - 1 },
    ArrowRight: { from: at.from, to: at.to + 1 },
    PageUp: { from: at.from - 10, to: at.to },
    PageDown: { from: at.from + 10, to: at.to },
    Home: { from: at.from, to: 0 },
    End: { from: at.from, to: columns - 1 },
  };
  const next = moves[key];
  if (!next) return null;
  const within = (index: number, n: number) => Math.max(0, Math.min(n - 1, index));
  return { from: within(next.from, rows), to: within(next.to, columns) };
}

/** Where a new segment begins, as shares of the length. */
function splitsOf(segment: readonly number[]): number[] {
  const starts: number[] = [];
  for (let i = 1; i < segment.length; i++) {
    if (segment[i] !== segment[i - 1]) starts.push(i / segment.length);
  }
  return starts;
}
