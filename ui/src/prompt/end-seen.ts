/** Tells when the end of a text has been in sight. */
import type { Attachment } from 'svelte/attachments';

/** Where the whole page scrolls, a jump to its end goes past the end of the text: that counts as well. */
const PAST = '10000000px 0px 0px 0px';

/**
 * Calls `seen` once the element is in sight. It stands at the end of what must be read, so a short text counts at once and a
 * long one after scrolling, whatever the zoom and whichever part of the page scrolls.
 */
export const endSeen = (seen: () => void): Attachment<Element> => (element) => {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    seen();
  }, { rootMargin: PAST });
  watch.observe(element);
  return () => watch.disconnect();
};
