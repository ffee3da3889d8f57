/**
 * A plain page with the widget on a fake kernel, for screenshots and benchmarks. What it shows is in its address:
 * `text` (store, chinese, arabic, emoji) or `n` (tokens of a long text), `layers`, `heads`, `on` (all, or 0,8),
 * `layer`, `token`, `views` (head,token), `theme`, `width`, `delay`, `dead`. A script before this one may set
 * `bertlensAttention`, the attention of a real text, coded as on the wire (base64).
 */

import { panes as late } from "../src/app/lazy-panes";
import { panes } from "../src/app/panes";
import widget from "../src/index";
import type { Traits } from "../src/state/store";
import { type Attention, longText, storePair, synthetic } from "./attention";
import { FakeModel } from "./fake-model";
import { arabic, chinese, emoji } from "./texts";

declare global {
  var bertlensAttention:
    | { nLayers: number; nHeads: number; codes: string; tokens: Attention["tokens"] }
    | undefined;
  var bertlensModel: FakeModel;
}

panes.value = { ...panes.peek(), ...late };

const asked = new URLSearchParams(location.search);
const number = (name: string, otherwise: number) => Number(asked.get(name) ?? otherwise);
const list = (name: string) => asked.get(name)?.split(",");

const attention = given() ?? synthetic(text(), number("layers", 6), number("heads", 12));
const traits: Partial<Traits> = { layer: number("layer", 0) };
const on = asked.get("on");
if (on === "all") traits.heads = Array.from({ length: attention.nHeads }, (_, head) => head);
else if (on !== null) traits.heads = on === "" ? [] : on.split(",").map(Number);
const token = asked.get("token");
if (token !== null) traits.token = Number(token);
const views = list("views");
if (views) traits.views = views;
for (const name of ["special", "level", "side", "segment_filter"] as const) {
  const value = asked.get(name);
  if (value !== null) Object.assign(traits, { [name]: value });
}
const words = attention.tokens.words;
const spoken = (segment: number) =>
  words.label.filter((_, i) => !words.special[i] && words.segment[i] === segment).join(" ");
traits.text = spoken(0);
traits.text_pair = spoken(1) || null;

const theme = asked.get("theme") ?? "light";
document.documentElement.style.colorScheme = theme;
document.body.style.background = theme === "dark" ? "#14171b" : "#fff";
document.body.style.margin = "12px";
const width = asked.get("width");
if (width) document.body.style.width = `${width}px`;

const model = new FakeModel(attention, {
  traits,
  delay: number("delay", 0),
  dead: asked.has("dead"),
});
globalThis.bertlensModel = model;
const { initialize, render } = widget();
initialize({ model });
const el = document.createElement("div");
document.body.append(el);
render({ model, el });

function text(): Attention["tokens"] {
  if (asked.has("n")) return longText(number("n", 128));
  const texts = { chinese, arabic, emoji, store: storePair };
  return (texts[(asked.get("text") ?? "store") as keyof typeof texts] ?? storePair)();
}

function given(): Attention | null {
  const found = globalThis.bertlensAttention;
  if (!found) return null;
  const { codes, ...rest } = found;
  const coded = atob(codes);
  const weights = new Float32Array(coded.length);
  for (let i = 0; i < coded.length; i++) weights[i] = (coded.charCodeAt(i) / 255) ** 2;
  return { ...rest, weights };
}
