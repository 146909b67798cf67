/**
 * Sentences that the engine gives in English alone, in the person's language.
 *
 * They come from deep within, where only the sentence travels up. The English texts `said.*` are those very sentences, with places
 * for what differs, so that each can be recognised; one that is not among them stays in English.
 */
import { language, t, type Key } from './text';
import { said as english } from './text/en/said';

interface Form {
  key: Key;
  whole: RegExp;
  names: string[];
  letters: number;
}

const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function form([key, text]: [string, string]): Form {
  const names = [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? '');
  const parts = text.split(/\{\w+\}/);
  // As a sentence of its own it begins large and may end with a full stop.
  return { key: key as Key, whole: new RegExp(`^${parts.map(literally).join('(.+?)')}\\.?$`, 'is'), names, letters: parts.join('').length };
}

let forms: Form[] | undefined;
/** The most telling ones first: a place at the end of a short one would take in what a longer one says. */
const all = (): Form[] => (forms ??= Object.entries(english).map(form).sort((one, other) => other.letters - one.letters));

/** A reason is a sentence of its own; all else that differs is shown as it came. */
const part = (name: string, value: string): string => (name === 'why' ? told(value).text : value);

/** What the engine said, and the language that it is in now. */
export function told(text: string): { text: string; lang: string } {
  if (language() === 'en') return { text, lang: 'en' };
  for (const { key, whole, names } of all()) {
    const found = whole.exec(text);
    if (found) return { text: t(key, Object.fromEntries(names.map((name, index) => [name, part(name, found[index + 1] ?? '')]))), lang: language() };
  }
  return { text, lang: 'en' };
}
