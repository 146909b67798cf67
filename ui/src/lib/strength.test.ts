import { expect, it } from 'vitest';
import { strength } from './strength';

it('calls short what is refused, and weak what is guessed first', () => {
  expect(['', 'seven77', 'é€𝄞x'].map(strength)).toEqual(['short', 'short', 'short']);
  expect(['aaaaaaaaaaaaaaaaaaaaaaaa', 'abababababab', 'passwort'].map(strength)).toEqual(['weak', 'weak', 'weak']);
  expect(strength('winter2024!')).toBe('fair');
  expect(strength('correct horse battery staple')).toBe('strong');
});
