import { afterEach, expect, test } from "vitest";
import { eventually, type Shown, show } from "../../test-support/show";

/** As build.mjs writes it: a function of what the page shares, returning the panes. */
const code = (name: string) => `export default (core) => {
  const { element } = core["ui/element"];
  const view = (container) => {
    container.append(element("p", {}, "here at last"));
    return () => container.replaceChildren();
  };
  return { panes: { ${name}: { label: "Late pane", view } } };
}`;

let shown: Shown | undefined;

afterEach(() => {
  shown?.dispose();
  shown = undefined;
});

test("a pane that is not at hand is asked for after the first lines, and the others stay", async () => {
  shown = show(["head", "asked"], { panes: code("asked"), width: 900 });
  const head = shown.find(".bl-pane-head");
  await eventually(() => expect(shown?.find(".bl-pane-asked").textContent).toBe("here at last"));
  const kinds = shown.model.sent.map((query) => query.kind);
  expect(kinds.indexOf("panes")).toBeGreaterThan(kinds.indexOf("block"));
  expect(shown.find(".bl-pane-asked").getAttribute("aria-label")).toBe("Late pane");
  expect(shown.find(".bl-pane-head")).toBe(head);
});

test("a pane whose code is saved with the notebook shows without a kernel", async () => {
  shown = show(["saved"], { dead: true, traits: { late: code("saved") } });
  await eventually(() => expect(shown?.find(".bl-pane-saved").textContent).toBe("here at last"));
});

test("panes that cannot be loaded are said in words", async () => {
  shown = show(["head", "broken"], { panes: "export default () => { throw Error('no core'); }" });
  await eventually(() => expect(shown?.el.textContent).toContain("no core"));
});
