import { expect, it } from 'vitest';
import { bytes, secondsLeft } from './format';

it('says sizes in the unit a person would use', () => {
  expect([0, 1023, 1024, 15360, 5 * 1024 ** 3].map(bytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '15 KiB', '5.0 GiB']);
});

it('never counts below zero', () => {
  expect(secondsLeft(1000, 5000)).toBe(0);
  expect(secondsLeft(61_000, 1_500)).toBe(60);
});
