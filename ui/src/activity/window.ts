/** The arithmetic of a list of which only a part is in the document. Rows have one height; index 0 is the newest. */

export interface Slice {
  /** First row in the document. */
  from: number;
  /** One past the last. */
  to: number;
}

/** Rows kept beyond each edge, so that a quick scroll does not show an empty list. */
export const BEYOND = 8;
/** Pixels that an element may be high in every browser, with room to spare. */
const TALLEST = 15_000_000;

/** Rows that a list can hold at a row height in pixels. */
export const mostRows = (rowHeight: number): number => Math.floor(TALLEST / Math.max(1, rowHeight));

/** Says which rows belong into the document. Any numbers are borne: a scroll past an end, a list not measured yet. */
export function slice(scrollTop: number, height: number, rowHeight: number, count: number): Slice {
  if (count <= 0 || rowHeight <= 0) return { from: 0, to: 0 };
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const last = Math.ceil((Math.max(0, scrollTop) + Math.max(0, height)) / rowHeight);
  const to = Math.min(count, last + BEYOND);
  return { from: Math.max(0, Math.min(first, count - 1) - BEYOND), to: Math.max(to, Math.min(1, count)) };
}

/** Returns where to scroll so that a row is in sight; the same place when it is. */
export function reveal(index: number, scrollTop: number, height: number, rowHeight: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return scrollTop;
}

/** Returns the row that a key leads to, or nothing when the key is not for the list. */
export function moved(key: string, index: number, count: number, page: number): number | undefined {
  const by: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + Math.max(1, page),
    PageUp: index - Math.max(1, page),
    Home: 0,
    End: count - 1,
  };
  const to = by[key];
  return to === undefined || count === 0 ? undefined : Math.min(count - 1, Math.max(0, to));
}
