import { clearMocks, mockIPC, mockWindows } from '@tauri-apps/api/mocks';
import { cleanup, render } from '@testing-library/svelte';
import { afterEach, expect, it } from 'vitest';
import { look } from '../lib/prefs.svelte';
import { view } from '../lib/state.svelte';
import { chooseLanguage } from '../lib/text';
import PromptWindow from './PromptWindow.svelte';
import { settle } from './rig';

afterEach(() => {
  cleanup();
  clearMocks();
  view.snapshot = null;
  look.prefs = { ...look.prefs, language: 'system' };
  chooseLanguage('en', 'en');
});

/** An answer that comes when the test says so. */
function later<T>() {
  let give: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => (give = resolve));
  return { promise, give: (value: T) => give(value) };
}

it.each([['snapshot', 'prefs'], ['prefs', 'snapshot']] as const)('says nothing until both are there: first %s, then %s', async (early, late) => {
  look.ready = false;
  const waits = { snapshot: later<unknown>(), prefs: later<unknown>() };
  const answers = { snapshot: { prompts: [], chats: [], offered_folder: null }, prefs: { language: 'de' } };
  mockWindows('prompt');
  mockIPC((name) => (name === 'snapshot' || name === 'prefs' ? waits[name].promise : {}), { shouldMockEvents: true });
  render(PromptWindow);
  await settle();
  expect(document.body.textContent.trim()).toBe('');

  waits[early].give(answers[early]);
  await settle();
  expect(document.body.textContent.trim()).toBe('');

  waits[late].give(answers[late]);
  await settle();
  expect(document.body.textContent).toContain('Keine Frage wartet');
});
