import { afterEach, expect, it } from 'vitest';
import { bytes, keyNames, secondsLeft } from './format';
import { chooseLanguage } from './text';

afterEach(() => void chooseLanguage('en', 'en'));

it('says sizes in the unit a person would use', () => {
  expect([0, 1023, 1024, 15360, 5 * 1024 ** 3].map(bytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '15 KiB', '5.0 GiB']);
});

it('never counts below zero', () => {
  expect(secondsLeft(1000, 5000)).toBe(0);
  expect(secondsLeft(61_000, 1_500)).toBe(60);
});

it('names keys as the keyboards of the language do', () => {
  expect(keyNames('Ctrl+Alt+Shift+R')).toBe('Ctrl+Alt+Shift+R');
  chooseLanguage('de', 'en');
  expect(keyNames('Ctrl+Alt+Shift+R')).toBe('Strg+Alt+Umschalt+R');
});
