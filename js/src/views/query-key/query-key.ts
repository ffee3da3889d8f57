import { computed, effect, signal } from "@preact/signals-core";
import { groundOf } from "../../drawing/theme";
import {
  byWeight,
  contributions,
  dimensions,
  dot,
  type Inside,
  insideOf,
  part,
  product,
  score,
  weight,
} from "../../kernel/query-key-reply";
import { columnsOf, tokenOfItem } from "../../state/items";
import type { Side, View } from "../../state/store";
import { choice, menu, type Stops } from "../../ui/controls";
import { copyButton, table } from "../../ui/copy-button";
import { restedHover } from "../../ui/debounced-hover";
import { element, say } from "../../ui/element";
import { waiting } from "../../ui/loading-mark";
import { paneHeader } from "../../ui/pane-header";
import { headName } from "../../ui/score-format";
import { RunningText } from "../../ui/token-text";
import { signedShade } from "./paint-strip";
import { InsideTable, partName, signed } from "./table";

/** So many tokens are shown, those with most weight; all are in the copied text. */
const FEW = 12;
const MANY = 100;

/** How the weights of one token come about: its query against every key, dimension by dimension. */
export const queryKeyView: View = (container, store) => {
  const { traits, kernel, selected } = store;
  const { meta, layer, views } = traits;
  const { dark } = groundOf(container);
  const { rested, dispose } = restedHover(store);
  const stops: Stops = [dispose];
  const wait = waiting(container);
  /** In an explorer folded away, and nothing is asked for, until it is opened. */
  const open = signal(views.peek().length === 1);
  const sorted = signal<"dimension" | "contribution">("dimension");
  const many = signal(false);
  const followed = signal<number | null>(null);
  /** The token whose lead the dimensions are sorted by; null: the one with most weight. */
  const chosen = signal<number | null>(null);

  /** The token asked about, counted in tokens at either level. */
  const focused = computed((): { side: Side; token: number } | null => {
    const at = rested.value;
    const side = at?.side ?? traits.side.value;
    const token = at
      ? tokenOfItem(columnsOf(meta.value, side), traits.level.value, at.index)
      : traits.token.value;
    return token === null ? null : { side, token };
  });
  const answer = computed(() => {
    const [at, head] = [focused.value, selected.value];
    if (!open.value || !at || head === null) return null;
    const { side, token } = at;
    return store.answer({ kind: "inside", layer: layer.value, head, index: token, side });
  });
  const inside = computed((): Inside | null => {
    const found = answer.value;
    return found?.status === "ok" ? insideOf(found.data, found.shape, found.content) : null;
  });
  const other = computed((): Side => (focused.value?.side === "to" ? "from" : "to"));
  const labels = computed(() => columnsOf(meta.value, other.value).label);
  const ranked = computed(() => (inside.value ? byWeight(inside.value) : []));
  const lead = computed(() => chosen.value ?? ranked.value[0] ?? 0);
  const sortedFor = computed(() => (sorted.value === "contribution" ? lead.value : null));
  const dims = computed(() => (inside.value ? dimensions(inside.value, sortedFor.value) : []));

  const tools = paneHeader(container, "Query and key");
  const fold = element("button", { type: "button", class: "bl-plain" });
  fold.addEventListener("click", () => {
    open.value = !open.value;
  });
  const sorting = choice(
    stops,
    "Order of the dimensions",
    [
      { value: "dimension", text: "by dimension" },
      {
        value: "contribution",
        text: "by contribution",
        title: "First what sets the marked token's score apart",
      },
    ],
    () => sorted.value,
    (by) => {
      sorted.value = by;
    },
  );
  const following = menu(
    stops,
    "follow",
    () => {
      const adds = inside.value && contributions(inside.value, lead.value);
      const named = dims.value.map((d) => ({
        value: String(d),
        text: `dimension ${d} (${signed(adds![d]!)})`,
      }));
      return [{ value: "", text: "no dimension" }, ...named];
    },
    () => String(followed.value ?? ""),
    (d) => {
      followed.value = d ? Number(d) : null;
    },
  );
  tools.append(sorting, following, fold);

  const caption = element("p", { class: "bl-note" });
  const empty = element("p", { class: "bl-empty" });
  const text = new RunningText("The followed dimension over all tokens", null);
  const grid = new InsideTable(
    (d) => {
      followed.value = d === followed.peek() ? null : d;
    },
    (token) => {
      chosen.value = token;
      sorted.value = "contribution";
    },
  );
  const list = element("div", { class: "bl-inside-frame" }, grid.element);
  const more = element("button", { type: "button", class: "bl-plain" });
  more.addEventListener("click", () => {
    many.value = !many.value;
  });
  const copying = copyButton("Copy scores, weights and products as text", () => {
    const now = inside.peek();
    if (!now) return "";
    const all = now.own.map((_, d) => d);
    const lines = ranked
      .peek()
      .map((token) => [
        labels.peek()[token] ?? "",
        String(token),
        ...[
          weight(now, token),
          score(now, token),
          dot(now, token),
          ...now.parts.map((_, i) => part(now, token, i)),
          ...all.map((d) => product(now, token, d)),
        ].map((value) => value.toPrecision(6)),
      ]);
    const own = ["weight", "score", "q·k", ...now.parts.map(partName)];
    const title = ["token", "index", ...own, ...all.map((d) => `q×k ${d}`)];
    return table([[caption.textContent ?? ""], title, ...lines]);
  });
  const below = element("div", { class: "bl-pane-tools" }, more, copying);
  const shown = element("div", {}, caption, empty, text.element, list, below);
  container.append(shown);

  stops.push(
    effect(() => {
      fold.hidden = views.value.length === 1;
      say(fold, open.value ? "close" : "open");
      fold.setAttribute("aria-label", `${fold.textContent} query and key`);
      fold.setAttribute("aria-expanded", String(open.value));
      shown.hidden = sorting.hidden = following.hidden = !open.value;
    }),
    // Another head has other dimensions.
    effect(() => {
      layer.value;
      selected.value;
      traits.generation.value;
      followed.value = null;
    }),
    effect(() => {
      focused.value;
      chosen.value = null;
    }),
    effect(() => {
      const [now, at, head] = [inside.value, focused.value, selected.value];
      wait(open.value && !now);
      caption.hidden = !now;
      if (!now || !at || head === null) {
        delete container.dataset.painted;
        return;
      }
      const names = at.side === "from" ? (["query", "key"] as const) : (["key", "query"] as const);
      const own = `${names[0]} of “${columnsOf(meta.value, at.side).label[at.token]}”`;
      const added = now.parts.map((name) => ` + ${partName(name)}`).join("");
      const sink = now.sink === null ? "" : ` and a sink, ${signed(now.sink)}`;
      caption.textContent =
        `${headName(layer.value, head)}, ${own}: score = q·k × ${Number(now.scale.toPrecision(3))}` +
        `${added}; weights are the softmax of a row's scores${sink}.`;
      grid.show({
        inside: now,
        labels: labels.value,
        own,
        other: names[1],
        dims: dims.value,
        followed: followed.value,
        sortedFor: sortedFor.value,
        tokens: ranked.value.slice(0, many.value ? MANY : FEW),
        dark: dark.value,
      });
      container.dataset.painted = `${at.side} ${at.token}`;
    }),
    effect(() => {
      const [now, d] = [inside.value, followed.value];
      text.element.hidden = !now || d === null;
      if (!now || d === null) return;
      const columns = columnsOf(meta.value, other.value);
      const texts = meta.value.to ? [] : [traits.text.value, traits.text_pair.value];
      text.show({ ...columns, size: now.n }, texts);
      const adds = columns.label.map((_, token) => product(now, token, d));
      const full = Math.max(...adds.map(Math.abs)) || 1;
      text.shade(adds.map((value) => signedShade(value / full, dark.value)));
    }),
    effect(() => {
      const found = answer.value;
      const said =
        found?.status === "error"
          ? found.error
          : selected.value === null
            ? "Switch a head on to see how its weights come about."
            : !focused.value
              ? "Choose a token to see how its weights come about."
              : !found && kernel.value === "silent"
                ? "Queries and keys come with a running kernel."
                : "";
      say(empty, said);
      empty.hidden = !said;
      list.hidden = below.hidden = Boolean(said);
      more.hidden = ranked.value.length <= FEW;
      say(more, many.value ? "fewer" : "more");
      more.setAttribute("aria-expanded", String(many.value));
    }),
  );
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};
