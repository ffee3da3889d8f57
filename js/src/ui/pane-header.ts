/** The top line of a pane: its name, and room at the end of the line for its controls. */
export function paneHeader(container: HTMLElement, title: string): HTMLElement {
  const document = container.ownerDocument;
  const header = document.createElement("div");
  header.className = "bl-pane-header";
  const name = document.createElement("h2");
  name.className = "bl-pane-title";
  name.textContent = title;
  const tools = document.createElement("div");
  tools.className = "bl-pane-tools";
  header.append(name, tools);
  container.append(header);
  return tools;
}
