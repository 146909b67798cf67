/** Tells when what is in the document has really been on the screen. */

/**
 * Calls `done` once two frames have passed while the document can be seen: the second comes only after the first was painted.
 * A hidden document gives no frames, and a question nobody can see must not count. Returns what calls it off.
 */
export function afterPaint(done: () => void): () => void {
  let frame = 0;
  const begin = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        if (document.visibilityState !== 'visible') return;
        end();
        done();
      });
    });
  };
  const end = () => {
    cancelAnimationFrame(frame);
    document.removeEventListener('visibilitychange', begin);
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return end;
}
