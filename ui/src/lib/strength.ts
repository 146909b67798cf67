/** How hard a passphrase is to guess, told roughly and never sent anywhere. Length counts most; a repeated pattern counts once. */
export const SHORTEST_PASSPHRASE = 8;

export type Strength = 'short' | 'weak' | 'fair' | 'strong';

export function strength(passphrase: string): Strength {
  const letters = [...passphrase];
  if (letters.length < SHORTEST_PASSPHRASE) return 'short';
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) => kind.test(passphrase)).length;
  const worth = Math.min(letters.length, new Set(letters).size * 2) + 2 * (kinds - 1);
  if (worth < 12) return 'weak';
  return worth < 20 ? 'fair' : 'strong';
}
