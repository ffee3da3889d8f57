import { expect, test } from "vitest";
import { surface } from "../../src/drawing/repaint";
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

test("what should come soon is drawn at the end of the turn, and then once a frame", async () => {
  const watched = document.createElement("div");
  watched.style.width = "80px";
  document.body.append(watched);
  let drawings = 0;
  const draw = () => {
    drawings++;
    return true;
  };
  const painter = surface(watched, draw, true);
  await eventually(() => expect(drawings).toBe(1));
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
  for (const _ of [1, 2, 3]) painter.redraw();
  expect(drawings).toBe(1);
  await null;
  expect(drawings).toBe(2);
  for (const _ of [1, 2, 3]) painter.redraw();
  await null;
  expect(drawings).toBe(2);
  await eventually(() => expect(drawings).toBe(3));
  painter.redraw();
  painter.dispose();
  await new Promise(requestAnimationFrame);
  expect(drawings).toBe(3);
  watched.remove();
});
