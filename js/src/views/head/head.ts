import { computed, effect, signal, untracked } from "@preact/signals-core";
import { remaining } from "../../attention/decode";
import { type Choice, linesOf, passes, specialShare, weakShare } from "../../attention/lines";
import { headRgb, type Rgb } from "../../drawing/colors";
import type { Lines } from "../../drawing/line-curves";
import { surface } from "../../drawing/repaint";
import { groundOf } from "../../drawing/theme";
import type { Place, Side, Store, View } from "../../state/store";
import type { Stops } from "../../ui/controls";
import { element, say } from "../../ui/element";
import { followLook } from "../../ui/focused-weights";
import { waiting } from "../../ui/loading-mark";
import { paneHeader } from "../../ui/pane-header";
import { type Band, bandFor, covers, type Measures, Stage } from "./canvases";
import { Columns, type Placement, placeItems } from "./columns";
import { filters, foot, type LeftOut, layerTools, swatches } from "./controls";
import { marksOf, same, sentence } from "./marks";

/** Rows are this many times the size of their letters. */
const ROW = 1.55;
/** The text twice, from left to right: a line for each weight, coloured by its head. */
export const headView: View = (container, store) => {
  const { traits, page, items } = store;
  const abort = new AbortController();
  const ground = groundOf(container);
  const leftOut = signal<LeftOut>({ weak: null, special: null });
  const tools = paneHeader(container, "Head view");
  const stops: Stops = [];
  tools.append(...layerTools(store, stops));
  const footer = foot(store, leftOut, stops);
  const scroll = element("div", { class: "bl-scroll" });
  const body = element("div", { class: "bl-body" });
  const empty = element("p", { class: "bl-empty" });
  const spoken = element("p", { class: "bl-unseen", "aria-live": "polite" });
  const stage = new Stage();
  const columns = new Columns(
    {
      onHover: (place) => {
        page.hover.value = place;
      },
      onPin: (place, join) => {
        if (join) void store.join(place);
        else store.setPin(same(place, store.pin.peek()) ? null : place);
      },
      onEscape: () => {
        page.hover.value = null;
        store.setPin(null);
      },
    },
    abort.signal,
  );
  body.append(stage.base, stage.top, columns.from, columns.to);
  scroll.append(body);
  container.append(swatches(store, stops), filters(store, stops), scroll, empty, footer, spoken);

  const placement = computed((): Record<Side, Placement> => {
    const hide = traits.special.value !== "show";
    return { from: placeItems(items.from.value, hide), to: placeItems(items.to.value, hide) };
  });
  /** Rows on screen of what has lines: shown, and let through by the segment filter. */
  const places = computed(() => {
    const filter = store.paired.value ? traits.segment_filter.value : "all";
    const side = (name: Side) => {
      const { segment } = items[name].value;
      return placement.value[name].place.map((row, i) =>
        passes(filter, name, segment[i]!) ? row : -1,
      );
    };
    return { from: side("from"), to: side("to") };
  });

  /** What of the chosen heads is here, ready to be drawn. */
  const picture = computed(() => {
    const [layer, heads] = [traits.layer.value, traits.heads.value];
    const [rows, cols] = [items.from.value.size, items.to.value.size];
    const here = heads
      .map((head) => ({ head, codes: store.block(layer, head) }))
      .filter((map) => map.codes?.length === rows * cols) as { head: number; codes: Uint8Array }[];
    const maps = here.map(({ codes }) => codes);
    const { special } = items.to.value;
    const left =
      traits.special.value === "renormalise"
        ? maps.map((codes) => remaining({ codes, rows, columns: cols }, special))
        : null;
    const choice: Choice = {
      maps,
      columns: cols,
      fromPlace: places.value.from,
      toPlace: places.value.to,
      left,
      minWeight: traits.min_weight.value,
    };
    const name = `${traits.generation.value}:${layer}:${heads.join(",")}`;
    return {
      name,
      choice,
      heads: here.map(({ head }) => head),
      whole: here.length === heads.length,
    };
  });

  const { looked, dispose: unlook } = followLook(store);
  let measures: Measures | null = null;
  let gutter = 0;
  let band: Band = { top: 0, height: 0 };
  let drawn = { ratio: 0, width: 0 };
  let scrolled = 0;
  const stale = { layout: true, base: true, top: true };

  const layout = () => {
    const font = Number.parseFloat(getComputedStyle(container).fontSize);
    const row = Math.round(font * ROW);
    const style = getComputedStyle(body);
    // Only where it changes: all rows are laid out anew.
    if (`${row}px` !== style.getPropertyValue("--bl-row")) {
      body.style.setProperty("--bl-row", `${row}px`);
    }
    const rows = Math.max(placement.peek().from.rows, placement.peek().to.rows);
    gutter = Number.parseFloat(style.getPropertyValue("--bl-gutter")) || 0;
    const left = columns.from.offsetWidth;
    const right = columns.to.offsetLeft;
    measures = { width: body.clientWidth, left, right, row, height: rows * row };
  };

  const view = surface(
    scroll,
    (ratio, { width, height: shown }) => {
      if (ratio !== drawn.ratio || width !== drawn.width) {
        drawn = { ratio, width };
        stale.layout = true;
      }
      if (stale.layout) {
        layout();
        stale.layout = false;
        stale.base = true;
      }
      if (!measures || measures.right - measures.left < 8) {
        stale.layout = true;
        return false;
      }
      const { height } = measures;
      if (!covers(band, scrolled, shown, height)) stale.base = true;
      let lines = false;
      if (stale.base) {
        band = bandFor(scrolled, shown, height);
        lines = drawBase(ratio, measures);
        stale.top = true;
      }
      if (stale.top && drawTop(ratio, measures)) lines = true;
      stale.base = false;
      stale.top = false;
      return lines || undefined;
    },
    true,
  );

  const colorsOf = (heads: readonly number[]): Rgb[] => {
    const on = traits.heads.peek();
    return heads.map((head) => headRgb(on.indexOf(head), ground.dark.peek()));
  };
  const windowOf = (row: number) => ({
    first: band.top / row - 1,
    last: (band.top + band.height) / row,
  });
  const wait = waiting(scroll);
  let shownText = "";

  /** Whether there were lines to draw. */
  const drawBase = (ratio: number, now: Measures): boolean => {
    const { name, choice, heads, whole } = picture.peek();
    const text = `${traits.generation.peek()}:${traits.level.peek()}:${traits.special.peek()}`;
    wait(!whole);
    // While the next layer is on its way the last one stays, faint; never under another text.
    if (heads.length === 0 && !whole && text === shownText) return false;
    shownText = text;
    stage.drawBase(linesOf(choice, windowOf(now.row)), colorsOf(heads), now, band, ratio);
    if (!whole) return heads.length > 0;
    container.dataset.painted = name;
    if (page.painted.peek()) afterwards();
    else requestAnimationFrame(() => requestAnimationFrame(painted));
    return true;
  };
  // What waits for the first lines must not hold up the frame that shows them.
  const painted = () =>
    whenIdle(() => {
      page.painted.value = true;
      if (!abort.signal.aborted) afterwards();
    });

  /** Whether a token is looked at. */
  const drawTop = (ratio: number, now: Measures): boolean => {
    const focus = store.focus.peek();
    stage.base.toggleAttribute("data-dim", focus !== null);
    columns.mark(focus, store.pin.peek());
    if (!focus) {
      stage.clearTop();
      delete container.dataset.hover;
      return false;
    }
    const { choice, heads } = picture.peek();
    const colors = colorsOf(heads);
    const lines: Lines = linesOf(choice, windowOf(now.row), focus);
    const side = focus.side === "from" ? "to" : "from";
    const marks = marksOf(
      looked.peek(),
      focus,
      places.peek()[side],
      ground.dark.peek(),
      gutter > 20,
    );
    const style = getComputedStyle(footer);
    const ink = { color: style.color, font: `${style.fontSize} ${style.fontFamily}` };
    stage.drawTop(lines, marks, side, colors, now, band, ratio, ink);
    container.dataset.hover = `${focus.side}:${focus.index}`;
    return true;
  };

  // What needs all maps waits for the picture: shares of what is left out, and the next layers.
  let cancelIdle = () => {};
  const afterwards = () => {
    cancelIdle();
    cancelIdle = whenIdle(() => {
      leftOut.value = leftOutOf(store, picture.peek().choice);
      store.prefetch();
    });
  };
  const reveal = ({ side, index }: Place) => {
    if (!measures) return;
    const y = placement.peek()[side].place[index]! * measures.row;
    const { scrollTop, clientHeight } = scroll;
    if (y < scrollTop || y + measures.row > scrollTop + clientHeight) {
      scroll.scrollTop = y - clientHeight / 2;
    }
  };
  let saying: ReturnType<typeof setTimeout> | undefined;
  stops.push(
    effect(() => {
      const { from, to } = placement.value;
      columns.build("from", items.from.value, from);
      columns.build("to", items.to.value, to);
      stale.layout = true;
      view.redraw();
    }),
    effect(() => {
      columns.outside("from", places.value.from);
      columns.outside("to", places.value.to);
    }),
    effect(() => {
      picture.value;
      ground.looks.value;
      stale.base = true;
      view.redraw();
    }),
    effect(() => {
      if (store.focus.value) looked.value;
      store.pin.value;
      stale.top = true;
      view.redraw();
    }),
    effect(() => {
      const none = traits.heads.value.length === 0;
      const noText = items.from.value.size === 0;
      say(
        empty,
        noText
          ? "No text yet: type one above, or set it in Python."
          : none
            ? "No head is on: choose one above, or all."
            : "",
      );
      empty.hidden = !none && !noText;
    }),
    // A token pinned elsewhere comes into sight here.
    effect(() => {
      const pin = store.pin.value;
      if (pin && !page.hover.peek()) untracked(() => reveal(pin));
    }),
    effect(() => {
      clearTimeout(saying);
      const now = store.focus.value ? looked.value : null;
      if (!now?.exact || traits.views.value.includes("token")) return;
      saying = setTimeout(() => say(spoken, sentence(store, now)), 150);
    }),
  );
  const follow = () => {
    scrolled = scroll.scrollTop;
    view.redraw();
  };
  scroll.addEventListener("scroll", follow, { signal: abort.signal, passive: true });

  return () => {
    abort.abort();
    for (const stop of stops) stop();
    cancelIdle();
    clearTimeout(saying);
    unlook();
    view.dispose();
    container.replaceChildren();
  };
};

/** Runs `act` when the browser has nothing better to do; returns what calls it off. */
function whenIdle(act: () => void): () => void {
  if (!window.requestIdleCallback) {
    const timer = setTimeout(act, 60);
    return () => clearTimeout(timer);
  }
  const idle = requestIdleCallback(act, { timeout: 600 });
  return () => cancelIdleCallback(idle);
}

function leftOutOf(store: Store, choice: Choice): LeftOut {
  const { special } = store.traits;
  const weak = choice.maps.length > 0 ? weakShare(choice) : null;
  if (special.peek() === "show" || choice.maps.length === 0) return { weak, special: null };
  const [from, to] = [store.items.from.peek(), store.items.to.peek()];
  return { weak, special: specialShare(choice.maps, to.size, from.special, to.special) };
}
