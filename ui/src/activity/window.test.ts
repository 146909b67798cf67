import { expect, it } from 'vitest';
import { BEYOND, moved, mostRows, reveal, slice } from './window';

const counts = [0, 1, 2, 7, 8, 20, 499, 500, 100_000, 10_000_000];
const heights = [0, 1, 17, 300.5, 700, 5_000];
const rowHeights = [1, 31, 54, 108];

it('has in the document whatever is in sight, and little more', () => {
  for (const count of counts)
    for (const height of heights)
      for (const row of rowHeights)
        for (const share of [-0.1, 0, 0.001, 0.3, 0.9999, 1, 1.2]) {
          const top = share * count * row;
          const { from, to } = slice(top, height, row, count);
          const at = { count, height, row, top, from, to };

          expect(Number.isInteger(from) && Number.isInteger(to), JSON.stringify(at)).toBe(true);
          expect(from >= 0 && from <= to && to <= count, JSON.stringify(at)).toBe(true);
          expect(to - from, JSON.stringify(at)).toBeLessThanOrEqual(Math.ceil(height / row) + 1 + 2 * BEYOND);
          const first = Math.floor(Math.max(0, top) / row);
          const last = Math.min(count - 1, Math.ceil((Math.max(0, top) + height) / row) - 1);
          if (count > 0 && first <= last) expect(from <= first && last < to, JSON.stringify(at)).toBe(true);
        }
});

it('shows nothing before it was measured', () => {
  expect(slice(0, 500, 0, 100)).toEqual({ from: 0, to: 0 });
});

it('stays below what a browser can lay out', () => {
  for (const row of rowHeights) expect(mostRows(row) * row).toBeLessThan(16_777_216);
  expect(mostRows(54)).toBeGreaterThan(100_000);
});

it('scrolls just so far that a row is in sight, and not at all when it is', () => {
  expect(reveal(5, 0, 540, 54)).toBe(0);
  expect(reveal(10, 0, 540, 54)).toBe(54);
  expect(reveal(2, 540, 540, 54)).toBe(108);
  for (const index of [0, 3, 9, 10, 11, 5_000]) {
    for (const top of [0, 30, 540, 200_000]) {
      const to = reveal(index, top, 540, 54);
      expect(index * 54 >= to && (index + 1) * 54 <= to + 540).toBe(true);
    }
  }
});

it('moves by keys and never past an end', () => {
  const table: [string, number, number | undefined][] = [
    ['ArrowDown', 4, 5], ['ArrowDown', 99, 99], ['ArrowUp', 4, 3], ['ArrowUp', 0, 0],
    ['PageDown', 4, 14], ['PageDown', 95, 99], ['PageUp', 14, 4], ['PageUp', 4, 0],
    ['Home', 50, 0], ['End', 0, 99], ['Enter', 4, undefined], ['a', 4, undefined],
  ];
  for (const [key, from, to] of table) expect([key, moved(key, from, 100, 10)]).toEqual([key, to]);
  expect(moved('ArrowDown', 0, 0, 10)).toBeUndefined();
});
