import { afterEach, expect, test } from "vitest";
import { press, type Shown, show } from "../../test-support/show";

let view: Shown | undefined;
const stops = new AbortController();

afterEach(() => {
  view?.dispose();
  stops.abort();
});

test("the host hears keys with Ctrl or Cmd and no others, as Lumino listens", () => {
  view = show(["head"]);
  const heard: string[] = [];
  // Lumino: in the capture phase of the document, never under an element that opts out
  const listen = ({ key, target }: KeyboardEvent) => {
    if (!(target as Element).closest("[data-lm-suppress-shortcuts=true]")) heard.push(key);
  };
  const options = { capture: true, signal: stops.signal };
  document.addEventListener("keydown", listen, options);
  const swatch = view.button("0");
  const box = view.all("textarea")[0]!;
  swatch.focus();
  for (const key of ["s", "d", "Enter"]) press(swatch, key);
  press(swatch, "s", { ctrlKey: true });
  press(swatch, "d");
  press(swatch, "b", { metaKey: true });
  box.focus();
  press(box, "a");
  press(box, "z", { ctrlKey: true });
  press(box, "s", { ctrlKey: true });
  expect(heard).toEqual(["s", "b", "s"]);
});
