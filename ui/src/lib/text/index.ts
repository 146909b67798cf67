/**
 * Every text of the window, by key and language. English is the measure: another language must have exactly its keys.
 *
 * Each page has its own file in each language. A text with a count has two keys, `.one` and `.other`.
 */
import { de } from './de';
import { en, type Key } from './en';
import { language } from './language.svelte';

export type { Key } from './en';
export { chooseLanguage, language, languages, locale, type Language } from './language.svelte';

type Counted<K> = K extends `${infer Stem}.other` ? (`${Stem}.one` extends Key ? Stem : never) : never;
/** Keys that come in one form for one and in another for other counts. */
export type Plural = Counted<Key>;
type Places = Record<string, string | number>;

const texts = { en, de };

const fill = (text: string, places: Places): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(places[name] ?? whole));

/** Returns the text of a key, with its `{places}` filled. */
export const t = (key: Key, places: Places = {}): string => fill(texts[language()][key], places);

/** Returns the text of a key made at run time, or the fallback where there is none. */
export const named = (key: string, fallback: string, places: Places = {}): string =>
  Object.hasOwn(en, key) ? t(key as Key, places) : fallback;

/** Returns the form of a text that fits a count, with `{count}` filled in the way of the language. */
export function plural(stem: Plural, count: number, places: Places = {}): string {
  const form = new Intl.PluralRules(language()).select(count) === 'one' ? 'one' : 'other';
  return t(`${stem}.${form}` as Key, { count: new Intl.NumberFormat(language()).format(count), ...places });
}
