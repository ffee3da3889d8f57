import { expect, test } from "vitest";
import { textBoxes } from "../../src/app/text-boxes";
import { Store } from "../../src/state/store";
import { storePair, synthetic } from "../../test-support/attention";
import { FakeModel, metaOf } from "../../test-support/fake-model";

const attention = synthetic(storePair());

function labels(container: HTMLElement): [string | null, string][] {
  return [...container.querySelectorAll("textarea")].map((box) => [
    box.getAttribute("aria-label"),
    box.placeholder,
  ]);
}

test("the boxes say what they are for, also after a model of another kind", () => {
  const model = new FakeModel(attention);
  const store = new Store(model as never);
  const container = document.createElement("div");
  const dispose = textBoxes(container, store);
  const usual = ["Text", "Second text, optional"];
  expect(labels(container)).toEqual(usual.map((label) => [label, label]));
  const texts: [string, string] = ["Source", "Target, optional"];
  model.fromKernel({ meta: { ...metaOf(attention), texts } });
  expect(labels(container)).toEqual(texts.map((label) => [label, label]));
  model.fromKernel({ meta: metaOf(attention) });
  expect(labels(container)).toEqual(usual.map((label) => [label, label]));
  dispose();
  store.dispose();
});
