import { element } from "./element";

const SHOWN = 1_500;

/** A button that copies `text()`: numbers as tab-separated lines, which spreadsheets take as a table. */
export function copyButton(what: string, text: () => string): HTMLButtonElement {
  const button = element(
    "button",
    { type: "button", class: "bl-plain", "aria-label": what },
    "copy",
  );
  button.addEventListener("click", async () => {
    const done = await copy(text(), button);
    button.textContent = done ? "copied" : "not allowed to copy here";
    setTimeout(() => {
      button.textContent = "copy";
    }, SHOWN);
  });
  return button;
}

async function copy(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // frames without the clipboard's permission (Colab) still take a selection
    const area = element("textarea", { class: "bl-unseen", readonly: true }, text);
    near.after(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    near.focus();
    return done;
  }
}

/** Cells as tab-separated lines; what would break a cell becomes a space. */
export function table(rows: readonly (readonly string[])[]): string {
  return rows
    .map((row) => row.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t"))
    .join("\n");
}
