/** The language of the window. Text functions read it, so that everything shown follows a change at once. */
export type Language = 'en' | 'de';

/** Every language with its own name, in the order of the settings page. */
export const languages: readonly { tag: Language; name: string }[] = [
  { tag: 'en', name: 'English' },
  { tag: 'de', name: 'Deutsch' },
];

let current = $state<Language>('en');

export const language = (): Language => current;

/** The language with the region of the desktop where they agree: times of "en" differ from "en-GB". */
export const locale = (): string => navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === current) ?? current;

/** Chooses by what the person set and, for "system", by the tag of the desktop: "de", "de-AT", "de_DE.UTF-8". */
export function chooseLanguage(wanted: string, desktop: string): Language {
  const tag = (wanted === 'system' ? desktop : wanted).slice(0, 2).toLowerCase();
  current = languages.find((known) => known.tag === tag)?.tag ?? 'en';
  return current;
}
