import { afterEach, expect, it } from 'vitest';
import { de } from './de';
import { en } from './en';
import { chooseLanguage, language, plural, t, named } from './index';

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort();
const german: Record<string, string> = de;

afterEach(() => chooseLanguage('en', 'en'));

it('has the same keys in every language', () => {
  expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
});

/** Says what the engine said, in English; another language may have a sentence of its own instead. */
const passedOn = (text: string) => /^\{(said|fix)\}$/.test(text);

it('names the same places in every language, and leaves no text empty', () => {
  for (const [key, text] of Object.entries(en)) {
    const own = places(german[key] ?? '');
    expect({ key, places: own }).toEqual({ key, places: passedOn(text) && own.length === 0 ? [] : places(text) });
    expect({ key, empty: text.trim() === '' || german[key]?.trim() === '' }).toEqual({ key, empty: false });
  }
});

it('has both forms of every counted text', () => {
  const stems = (end: string) => Object.keys(en).filter((key) => key.endsWith(end)).map((key) => key.slice(0, -end.length));
  expect(stems('.one').filter((stem) => !(`${stem}.other` in en))).toEqual([]);
});

it('follows what the person set, and the desktop where they set nothing', () => {
  chooseLanguage('system', 'de_AT.UTF-8');
  expect([language(), t('nav.powers')]).toEqual(['de', de['nav.powers']]);
  chooseLanguage('en', 'de');
  expect([language(), t('nav.powers')]).toEqual(['en', 'Powers']);
  chooseLanguage('system', 'fr');
  expect(language()).toBe('en');
});

it('chooses the form of a count and writes it in the way of the language', () => {
  expect([plural('chats.requests', 1), plural('chats.requests', 0), plural('chats.requests', 1200)]).toEqual(['1 request', '0 requests', '1,200 requests']);
  chooseLanguage('de', 'en');
  expect(plural('chats.requests', 1200)).toBe('1.200 Anfragen');
});

it('fills what is named, leaves unknown places and falls back for unknown keys', () => {
  expect(t('chats.running.other', { count: 2 })).toBe('2 running');
  expect(t('chats.running.other')).toBe('{count} running');
  expect(named('power.unheard_of', 'unheard_of')).toBe('unheard_of');
  expect(named('toString', 'none')).toBe('none');
});
