/** The colour behind a token of a running text, red, green, blue, 0 to 255, and opacity, 0 to 1. */
export function shadeOf(piece: HTMLElement): [number, number, number, number] {
  const canvas = piece.parentElement!.querySelector("canvas")!;
  if (canvas.height === 0) return [0, 0, 0, 0];
  const [at] = piece.getClientRects();
  const box = canvas.getBoundingClientRect();
  const x = Math.round((at!.x + at!.width / 2 - box.x) * (canvas.width / box.width));
  const y = Math.round((at!.y + at!.height / 2 - box.y) * (canvas.height / box.height));
  const [red = 0, green = 0, blue = 0, alpha = 0] = canvas
    .getContext("2d")!
    .getImageData(x, y, 1, 1).data;
  return [red, green, blue, alpha / 255];
}
