/** Tells when the end of a text has been in sight. */
import type { Attachment } from 'svelte/attachments';

/**
 * Calls `seen` once the element is in sight. It stands at the end of what must be read, so a short text counts at once and a
 * long one after scrolling, whatever the zoom and whichever part of the page scrolls.
 */
export const endSeen = (seen: () => void): Attachment<Element> => (element) => {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    seen();
  });
  watch.observe(element);
  return () => watch.disconnect();
};
