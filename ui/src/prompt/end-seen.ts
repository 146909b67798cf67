/** Tells when the end of a text has been in sight. */
import type { Attachment } from 'svelte/attachments';

/** Where the whole page scrolls, a jump to its end goes past the end of the text: that counts as well. */
const PAST = '10000000px 0px 0px 0px';
/** Parts of a long text are laid out only when they come into sight, and may push the end away again. */
const FRAMES = 3;

/**
 * Calls `seen` once the element is in sight and stays there for a few frames. It stands at the end of what must be read, so a
 * short text counts at once and a long one after scrolling, whatever the zoom and whichever part of the page scrolls.
 */
export const endSeen = (seen: () => void): Attachment<Element> => (element) => {
  let frame = 0;
  const wait = (frames: number) => {
    frame = requestAnimationFrame(() => {
      if (frames > 1) return wait(frames - 1);
      watch.disconnect();
      seen();
    });
  };
  const watch = new IntersectionObserver(
    (entries) => {
      cancelAnimationFrame(frame);
      if (entries.at(-1)?.isIntersecting) wait(FRAMES);
    },
    { rootMargin: PAST },
  );
  watch.observe(element);
  return () => {
    cancelAnimationFrame(frame);
    watch.disconnect();
  };
};
