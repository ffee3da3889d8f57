type Attributes = Record<string, string | number | boolean | null | undefined>;

/** An element with its attributes and children. Strings become text, never markup; false and null leave out. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/** Sets text only where it differs: a live region must not repeat itself. */
export function say(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}
