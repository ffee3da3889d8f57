/** What a person does not notice yet, milliseconds: a mark that comes and goes costs more than it says. */
const SHORT = 150;

/** Marks an element as waiting once it has waited a while, and takes the mark off at once. */
export function waiting(target: HTMLElement): (waits: boolean) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (waits) => {
    if (waits) {
      timer ??= setTimeout(() => target.setAttribute("data-waiting", ""), SHORT);
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    target.removeAttribute("data-waiting");
  };
}
