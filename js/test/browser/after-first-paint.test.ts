import { afterEach, expect, test, vi } from "vitest";
import { storePair, synthetic } from "../../test-support/attention";
import { eventually, type Shown, show } from "../../test-support/show";

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

const title = (view: Shown) => view.find(".bl-card .bl-subtitle").textContent;
const drawn = (view: Shown) => view.find(".bl-pane-head").dataset.painted ?? "";

test("the card follows a layer once its lines are drawn", async () => {
  shown = show(["head", "grid"], { attention: synthetic(storePair()) });
  const view = shown;
  await eventually(() => expect(title(view)).toBe("Head 0-0"));
  await eventually(() => expect(drawn(view)).toMatch(/:0:0$/));
  view.model.delay = 80;
  view.store.traits.layer.value = 2;
  await vi.waitFor(() => expect(title(view)).toBe("Head 2-0"));
  expect(drawn(view)).toMatch(/:2:0$/);
});

test("without an answer it follows all the same", async () => {
  shown = show(["head", "grid"], { attention: synthetic(storePair()) });
  const view = shown;
  await eventually(() => expect(title(view)).toBe("Head 0-0"));
  view.model.dead = true;
  view.store.traits.layer.value = 2;
  await eventually(() => expect(title(view)).toBe("Head 2-0"));
});
