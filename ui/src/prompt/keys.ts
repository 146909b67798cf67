/** The keys of a question. Nothing that allows can be reached by a single key: somebody may be typing when the window comes. */

export interface KeyTargets {
  /** What the focus stays in. */
  box: () => HTMLElement;
  /** The part that scrolls, if the page itself does not. */
  scroller: () => HTMLElement | undefined;
  /** The end of what must be read, until it has been in sight. */
  end: () => Element | null;
  escape: () => unknown;
}

/** Marks a button with the number of its key: Alt+1, Alt+2… */
export const ACCELERATOR = 'data-accelerator';

/** Returns the handler for `keydown` of the window. */
export function onKey(targets: KeyTargets): (event: KeyboardEvent) => void {
  return (event) => {
    // A key that is held down would answer the next questions too.
    if (event.repeat && ['Escape', 'Enter', ' '].includes(event.key)) event.preventDefault();
    else if (handled(event, targets)) event.preventDefault();
  };
}

function handled(event: KeyboardEvent, { box, scroller, end, escape }: KeyTargets): boolean {
  if (event.altKey) return !event.repeat && press(box(), event.code);
  if (event.ctrlKey || event.metaKey) return false;
  switch (event.key) {
    case 'Escape':
      escape();
      return true;
    case 'Tab':
      return turn(reachable(box()), event.shiftKey ? -1 : 1);
    case 'ArrowRight':
    case 'ArrowLeft':
      return turn(
        reachable(box()).filter((one) => one.closest('[role="group"][data-answers]')),
        event.key === 'ArrowLeft' ? -1 : 1,
      );
    default:
      return scroll(event.key, scroller(), end());
  }
}

function press(box: HTMLElement, code: string): boolean {
  const number = /^(?:Digit|Numpad)(\d)$/.exec(code)?.[1];
  const button = number && box.querySelector<HTMLButtonElement>(`[${ACCELERATOR}="${number}"]:not(:disabled)`);
  if (!button) return false;
  button.click();
  return true;
}

const reachable = (box: HTMLElement): HTMLElement[] => [
  ...box.querySelectorAll<HTMLElement>('button:not(:disabled), summary, [tabindex="0"]'),
];

/** Moves the focus along, from the last to the first. From elsewhere it goes to the harmless answer. */
function turn(ring: HTMLElement[], by: 1 | -1): boolean {
  const at = ring.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (ring.find((one) => one.hasAttribute('data-harmless')) ?? ring[0]) : ring[(at + by + ring.length) % ring.length];
  next?.focus();
  return next !== undefined;
}

/** Parts of a long text that come into sight get their real height only then: so it takes some steps. */
function goTo(end: Element, steps = 5): void {
  end.scrollIntoView({ block: 'end' });
  if (steps > 1) requestAnimationFrame(() => goTo(end, steps - 1));
}

function scroll(key: string, scroller: HTMLElement | undefined, end: Element | null): boolean {
  if (key === 'End' && end) {
    goTo(end);
    return true;
  }
  const inner = scroller && scroller.scrollHeight > scroller.clientHeight ? scroller : document.documentElement;
  const page = inner.clientHeight * 0.9;
  const by: Record<string, number> = {
    ArrowDown: 48,
    ArrowUp: -48,
    PageDown: page,
    PageUp: -page,
    End: inner.scrollHeight,
    Home: -inner.scrollHeight,
  };
  const step = by[key];
  if (step === undefined) return false;
  inner.scrollTop += step;
  return true;
}
