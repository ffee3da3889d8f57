import { batch, computed, effect, signal } from "@preact/signals-core";
import type { ExamplesReply } from "../../kernel/protocol";
import type { Example, View } from "../../state/store";
import { choice, menu, plainButton, type Stops } from "../../ui/controls";
import { element, say } from "../../ui/element";
import { paneHeader } from "../../ui/pane-header";
import { headName } from "../../ui/score-format";
import { arc, firstShown } from "./arcs";

type Hit = "both" | "hit" | "miss";

/** What the kernel answers about a relation and a head. */
const PAGE = 50;
const SKY = 30;

/** The sentences behind a table of relations: where a head finds a word's syntactic head, and where not. */
export const probeView: View = (container, store) => {
  const { probed, relation, example, layer } = store.traits;
  const stops: Stops = [];
  const hit = signal<Hit>("both");
  const distance = signal<number | null>(null);
  const start = signal(0);
  /** What is on screen: kept while the answer to the next question is on its way. */
  const found = signal<{ asked: string; answer: ExamplesReply } | null>(null);

  const question = computed(() => {
    const [name, head] = [relation.value, store.selected.value];
    if (!probed.value || name === null || head === null) return null;
    return {
      kind: "examples",
      relation: name,
      layer: layer.value,
      head,
      hit: hit.value,
      distance: distance.value,
      start: start.value,
    } as const;
  });

  const tools = paneHeader(container, "Probe");
  const relations = menu(
    stops,
    "relation",
    () =>
      (probed.value?.relations ?? []).map(({ name, support }) => ({
        value: name,
        text: `${name} (${support})`,
      })),
    () => relation.value ?? "",
    (name) => {
      relation.value = name;
    },
  );
  const shownWhich = choice<Hit>(
    stops,
    "Which words",
    [
      { value: "both", text: "all" },
      { value: "hit", text: "hits", title: "Words whose head this attention head picks" },
      { value: "miss", text: "misses", title: "Words for which it picks another" },
    ],
    () => hit.value,
    (value) => {
      batch(() => {
        hit.value = value;
        start.value = 0;
      });
    },
  );
  const distances = menu(
    stops,
    "distance",
    () => [
      { value: "", text: "any" },
      ...(found.value?.answer.distances ?? []).map(([far, count]) => ({
        value: String(far),
        text: `${signed(far)} (${count})`,
      })),
    ],
    () => String(distance.value ?? ""),
    (far) => {
      batch(() => {
        distance.value = far === "" ? null : Number(far);
        start.value = 0;
      });
    },
  );
  tools.append(relations, shownWhich, distances);

  const empty = element("p", { class: "bl-empty" });
  const summary = element("p", { class: "bl-note" });
  const list = element("div", {
    class: "bl-examples",
    role: "listbox",
    "aria-label": "Sentences of the treebank",
  });
  const earlier = plainButton("earlier", "Earlier sentences", () => {
    start.value = Math.max(0, start.peek() - PAGE);
  });
  const later = plainButton("later", "Later sentences", () => {
    start.value += PAGE;
  });
  const range = element("span", {});
  const paging = element("p", { class: "bl-note bl-example-pages" }, earlier, range, later);
  container.append(empty, summary, list, paging);

  let lines: Line[] = [];
  const rove = (index: number, focus: boolean) => {
    for (const { element: line } of lines) line.setAttribute("tabindex", "-1");
    lines[index]?.element.setAttribute("tabindex", "0");
    if (focus) lines[index]?.element.focus();
  };
  const indexOf = (target: EventTarget | null) =>
    lines.findIndex(({ element: line }) => target instanceof Node && line.contains(target));
  const open = (index: number) => {
    const chosen = lines[index]?.example;
    if (chosen) void store.open(chosen.sentence, chosen.dependent);
  };
  list.addEventListener("click", ({ target }) => {
    const index = indexOf(target);
    if (index < 0) return;
    rove(index, true);
    open(index);
  });
  list.addEventListener("keydown", (event) => {
    const index = indexOf(event.target);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: lines.length - 1 };
    const to = next[event.key as keyof typeof next];
    if (event.key === "Enter" || event.key === " ") open(index);
    else if (to === undefined) return;
    else rove(Math.max(0, Math.min(lines.length - 1, to)), true);
    event.preventDefault();
    event.stopPropagation();
  });
  const drawArcs = () => {
    // Places are read before anything is written, so that the page is laid out once.
    const places = lines.map((line) => line.measure());
    for (const [i, line] of lines.entries()) line.draw(places[i]!);
  };
  // Words have no places while the pane is not on the page.
  const resized = new ResizeObserver(drawArcs);
  resized.observe(list);
  stops.push(() => resized.disconnect());

  stops.push(
    effect(() => {
      // Another relation has other words; its first page is shown, whatever their distance.
      relation.value;
      batch(() => {
        start.value = 0;
        distance.value = null;
      });
    }),
    effect(() => {
      const asked = question.value;
      if (!asked) {
        found.value = null;
        return;
      }
      const answer = store.answer(asked);
      list.setAttribute("aria-busy", String(!answer));
      if (answer?.status === "error") say(empty, answer.error);
      if (answer?.status !== "ok") return;
      const key = JSON.stringify([asked, answer.content.examples]);
      if (found.peek()?.asked === key) return;
      found.value = { asked: key, answer: answer.content };
    }),
    effect(() => {
      lines = (found.value?.answer.examples ?? []).map((one) => new Line(one));
      list.replaceChildren(...lines.map(({ element: line }) => line));
      list.scrollTop = 0;
      rove(0, false);
      drawArcs();
    }),
    effect(() => {
      found.value;
      const shown = example.value;
      for (const { element: line, example: own } of lines) {
        const on = own.sentence === shown?.sentence && own.dependent === shown.dependent;
        line.setAttribute("aria-selected", String(on));
      }
    }),
    effect(() => {
      const [now, table] = [found.value?.answer, probed.value];
      const missing = !table
        ? "No treebank yet: view.probe_view(table) shows one, of bl.probes.relations(lens, treebank)."
        : store.selected.value === null
          ? "No head is on: choose one to see what it finds."
          : now?.total === 0
            ? "No word passes these filters."
            : "";
      say(empty, missing);
      empty.hidden = !missing;
      for (const part of [relations, shownWhich, distances]) part.hidden = !table;
      list.hidden = !now?.total;
      const last = Math.min(start.value + PAGE, now?.total ?? 0);
      paging.hidden = !now || now.total <= PAGE;
      earlier.disabled = start.value === 0;
      later.disabled = last >= (now?.total ?? 0);
      say(range, ` ${start.value + 1} to ${last} of ${now?.total ?? 0} `);
    }),
    effect(() => {
      const now = found.value?.answer;
      const head = store.selected.value;
      summary.hidden = !now || head === null;
      if (!now || head === null) return;
      const share = now.support ? ` (${((100 * now.right) / now.support).toFixed(1)}%)` : "";
      say(
        summary,
        `${headName(layer.value, head)} finds the head of ${now.right} of ${now.support} words` +
          `${share} with relation ${relation.value}, ${now.direction.replace("->", " → ")}, ` +
          `in ${probed.value?.treebank}`,
      );
    }),
  );
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
};

/** A sentence on one line, the right arc over it, and the head's own where it is wrong. */
class Line {
  readonly element: HTMLElement;
  readonly example: Example;
  readonly #words = new Map<number, HTMLElement>();
  readonly #sky = document.createElementNS("http://www.w3.org/2000/svg", "svg");

  constructor(example: Example) {
    this.example = example;
    const { words, dependent, head, guess } = example;
    const right = guess === head;
    const first = firstShown([dependent, head, guess]);
    const parts: (Node | string)[] = first > 1 ? ["… "] : [];
    for (let number = first; number <= words.length; number++) {
      const word = element("span", { class: classOf(example, number) }, words[number - 1]!);
      this.#words.set(number, word);
      parts.push(word, " ");
    }
    this.#sky.setAttribute("aria-hidden", "true");
    const named = (number: number) => `“${words[number - 1]}”`;
    const told = right
      ? `${named(dependent)} hangs on ${named(head)}`
      : `${named(dependent)} hangs on ${named(head)}, this head picks ${named(guess)}`;
    this.element = element(
      "div",
      {
        class: "bl-example",
        role: "option",
        tabindex: -1,
        "aria-selected": "false",
        title: told,
        "data-hit": right,
      },
      element("span", { class: "bl-example-mark" }, right ? "hit" : "miss"),
      element("span", { class: "bl-unseen" }, `: ${told}, in: `),
      element("span", { class: "bl-example-words", dir: "auto" }, ...parts),
    );
    this.element.lastElementChild!.append(this.#sky);
  }

  /** Where the middle of each word in question is. */
  measure(): Map<number, number> {
    const { dependent, head, guess } = this.example;
    const places = new Map<number, number>();
    for (const number of [dependent, head, guess]) {
      const word = this.#words.get(number);
      if (word) places.set(number, word.offsetLeft + word.offsetWidth / 2);
    }
    return places;
  }

  draw(places: Map<number, number>): void {
    const { dependent, head, guess } = this.example;
    const at = (number: number) => places.get(number) ?? 0;
    const made = [path("bl-arc", arc(at(dependent), at(head), SKY, SKY - 4))];
    if (guess !== head) {
      made.push(path("bl-arc bl-arc-guess", arc(at(dependent), at(guess), SKY, SKY - 4)));
    }
    this.#sky.replaceChildren(...made);
  }
}

function classOf({ dependent, head, guess }: Example, number: number): string | null {
  if (number === dependent) return "bl-dependent";
  if (number === head) return "bl-gold";
  return number === guess ? "bl-guess" : null;
}

function path(name: string, d: string): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("class", name);
  made.setAttribute("d", d);
  return made;
}

function signed(value: number): string {
  return value < 0 ? `−${-value}` : `+${value}`;
}
