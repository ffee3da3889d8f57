import { afterEach, expect, test } from "vitest";
import { eventually, expectAccessible, type Shown, show } from "../../test-support/show";

let view: Shown | undefined;

afterEach(() => view?.dispose());

const opacity = (element: HTMLElement) => Number(getComputedStyle(element).opacity);

test("once the kernel is restarted a banner says what to do, and old drawings are dimmed", async () => {
  view = show(["grid", "head", "token"]);
  const { find, model, store } = view;
  await eventually(() => expect(find("[role=grid]").dataset.painted).toBe("maps"));
  const grid = find(".bl-grid-canvas");
  expect(opacity(grid)).toBe(1);
  expect(find("[role=alert]").textContent).toBe("");
  model.closed = true;
  store.traits.layer.value = 2;
  await eventually(() => expect(find("[role=alert]").textContent).toContain("run this cell again"));
  expect(find("[role=status]").textContent).toBe("");
  await eventually(() => expect(opacity(grid)).toBeLessThan(0.5));
  await expectAccessible(view.el);
  model.closed = false;
  model.answer({ id: "to another page" });
  expect(find("[role=alert]").textContent).toBe("");
  await eventually(() => expect(opacity(grid)).toBe(1));
});
