import { effect } from "@preact/signals-core";
import type { Silence, Store } from "../state/store";
import { element, say } from "../ui/element";
import { textBoxes } from "./text-boxes";

/** Why answers do not come, and what to do. */
const SILENT: Record<Silence, string> = {
  unheard:
    "No kernel answers: it is busy, or not running. The text and any score are shown as saved; " +
    "lines, maps and numbers need a running kernel.",
  busy: "The kernel is busy: what is asked for here comes when it is free.",
  closed:
    "The kernel was restarted or stopped: run this cell again. " +
    "What is drawn is from before and does not follow the selection.",
};

function labelled(label: string, probability: number | null): string {
  return probability === null ? label : `${label} ${(100 * probability).toFixed(1)}%`;
}

/** The line above the panes: the text, what ran it, and what there is to say. */
export function mountTop(container: HTMLElement, store: Store): () => void {
  const { traits, page, silence } = store;
  const texts = element("div", { class: "bl-texts" });
  const model = element("span", { class: "bl-model" });
  const predicted = element("p", { class: "bl-says bl-prediction" });
  const notes = element("div", { class: "bl-notes" });
  const status = element("p", { class: "bl-says", role: "status" });
  const alert = element("p", { class: "bl-says bl-says-error", role: "alert" });
  container.append(texts, model, predicted, notes, status, alert);
  const stops = [
    textBoxes(texts, store),
    effect(() => {
      const { model: name, n_layers, n_heads, from, to } = traits.meta.value;
      const sizes = to ? `${from.label.length} → ${to.label.length}` : from.label.length;
      model.textContent = `${name} · ${n_layers}×${n_heads} · ${sizes} tokens`;
      model.title = `${n_layers} layers of ${n_heads} heads`;
    }),
    effect(() => {
      const found = traits.meta.value.prediction ?? null;
      say(predicted, found ? `Prediction: ${labelled(found.label, found.probability)}` : "");
      predicted.title = found?.ranked.map((one) => labelled(...one)).join("\n") ?? "";
    }),
    effect(() => {
      const said = traits.meta.value.notes.map((note) => element("p", { class: "bl-says" }, note));
      notes.replaceChildren(...said);
    }),
    effect(() => {
      const busy = page.busy.value;
      container.classList.toggle("bl-busy", busy);
      const why = silence.value;
      const silent = why && why !== "closed" ? SILENT[why] : "";
      say(status, silent || !busy ? silent : (page.notice.value ?? "Running the model …"));
    }),
    effect(() => {
      const closed = silence.value === "closed";
      alert.classList.toggle("bl-banner", closed);
      say(alert, closed ? SILENT.closed : (page.error.value ?? ""));
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    container.replaceChildren();
  };
}
