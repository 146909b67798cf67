/** The head of the page: what of it stays in sight, wherever the page stands. */

/** Its boxes. One of them has no size of its own: which one depends on the room. */
const boxes = (): Element[] => [...document.querySelectorAll('.frame > header, .frame > header > .bar')];

/** How high it is, in pixels. */
export const headHeight = (): number => Math.max(0, ...boxes().map((one) => one.getBoundingClientRect().height));

/** Where it ends in the window, in pixels from the top. */
export const headEnd = (): number => Math.max(0, ...boxes().map((one) => one.getBoundingClientRect().bottom));

/** Calls back when its size changes, and once at the beginning; returns how to stop that. */
export function onHeadSize(call: () => void): () => void {
  const sized = new ResizeObserver(call);
  for (const one of boxes()) sized.observe(one);
  return () => sized.disconnect();
}
