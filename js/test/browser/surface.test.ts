import { expect, test } from "vitest";
import { surface } from "../../src/drawing/surface";
import { eventually } from "../../test-support/show";

test("what could not be drawn is tried again, and only then", async () => {
  const watched = document.createElement("div");
  watched.style.cssText = "width: 80px; height: 40px; padding: 5px";
  document.body.append(watched);
  const sizes: [number, number][] = [];
  const painter = surface(watched, (_, { width, height }) => {
    sizes.push([width, height]);
    return sizes.length > 4;
  });
  await eventually(() => expect(sizes).toHaveLength(5));
  expect(sizes.at(-1)).toEqual([80, 40]);
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
  expect(sizes).toHaveLength(5);
  watched.style.width = "90px";
  await eventually(() => expect(sizes.at(-1)).toEqual([90, 40]));
  painter.dispose();
  watched.remove();
});
