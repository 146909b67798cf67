import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PowerView, ScreenView, Snapshot } from '../generated/types';
import { COPY, lacks, SCREEN, withApp, works } from '../lib/seat';
import { view } from '../lib/state.svelte';
import { snapshot } from '../../dev/snapshot';
import FirstRun from './FirstRun.svelte';
import Powers from './Powers.svelte';

const power = (name: string, mode: string): PowerView => ({ power: name, mode, locked_by: null, built: true, running: 0 });
const shown = (screenMode: string, clipboardMode: string, more: Partial<ScreenView> = {}): Snapshot => ({
  ...snapshot,
  powers: [power('computer_use', screenMode), power('clipboard', clipboardMode)],
  screen: { ...snapshot.screen, never_apps: [], ...more },
});
let sent: unknown[] = [];
let refuse = false;

beforeEach(() => {
  sent = [];
  refuse = false;
  view.error = null;
  mockIPC((name, payload) => {
    if (name !== 'send') return null;
    sent.push((payload as { command: unknown }).command);
    if (refuse) throw { code: 'bad_app_name', message: 'x' };
    return { reply: 'done' };
  });
});
afterEach(clearMocks);

const button = (name: string | RegExp) => screen.getByRole('button', { name });
const modes = (name: string) => within(screen.getByRole('group', { name }));
const SCREEN_POWER = 'Screen, mouse and keyboard';

it('switches the screen on only after saying what that means', async () => {
  render(Powers, { shown: shown('off', 'off') });
  expect(screen.getByText(/Everything on the screen goes to the platform/)).toBeTruthy();

  await fireEvent.click(modes(SCREEN_POWER).getByRole('button', { name: 'Allowed' }));
  expect(sent).toEqual([]);
  expect(document.activeElement).toBe(button('Leave it off'));
  await fireEvent.click(button('Leave it off'));
  expect([sent, screen.queryByRole('alertdialog')]).toEqual([[], null]);

  await fireEvent.click(modes(SCREEN_POWER).getByRole('button', { name: 'Allowed' }));
  await fireEvent.click(button('Switch it on'));
  expect(sent).toEqual([{ command: 'set_power', power: 'computer_use', mode: 'allowed' }]);
});

it('narrows and switches off without a second step', async () => {
  render(Powers, { shown: shown('allowed', 'off') });
  await fireEvent.click(modes(SCREEN_POWER).getByRole('button', { name: 'Ask each time' }));
  await fireEvent.click(modes(SCREEN_POWER).getByRole('button', { name: 'Off' }));
  expect(sent).toEqual([
    { command: 'set_power', power: 'computer_use', mode: 'ask_each_time' },
    { command: 'set_power', power: 'computer_use', mode: 'off' },
  ]);
});

it('lists apps by name, each once, and keeps what was typed when it is refused', async () => {
  render(Powers, { shown: shown('allowed', 'off', { only_apps: ['firefox'], never_apps: ['signal'] }) });
  const input = screen.getByRole<HTMLInputElement>('textbox', { name: /Never these apps/ });
  const form = within(input.closest('form')!);
  expect(form.getByRole<HTMLButtonElement>('button', { name: 'Add' }).disabled).toBe(true);

  await fireEvent.input(input, { target: { value: '  SIGNAL ' } });
  await fireEvent.submit(input.closest('form')!);
  expect([sent, input.value]).toEqual([[], '']);

  await fireEvent.input(input, { target: { value: 'thunderbird' } });
  refuse = true;
  await fireEvent.submit(input.closest('form')!);
  await vi.waitFor(() => expect(view.error?.code).toBe('bad_app_name'));
  expect(input.value).toBe('thunderbird');

  refuse = false;
  await fireEvent.submit(input.closest('form')!);
  await vi.waitFor(() => expect(input.value).toBe(''));
  expect(sent.at(-1)).toEqual({ command: 'set_screen', only_apps: ['firefox'], never_apps: ['signal', 'thunderbird'], full_resolution: false });

  await fireEvent.click(button('Remove signal'));
  expect(sent.at(-1)).toEqual({ command: 'set_screen', only_apps: ['firefox'], never_apps: [], full_resolution: false });
});

it('warns that an empty list shuts everything out', async () => {
  const { rerender } = render(Powers, { shown: shown('allowed', 'off') });
  await fireEvent.click(button('Only these'));
  expect(sent).toEqual([{ command: 'set_screen', only_apps: [], never_apps: [], full_resolution: false }]);

  await rerender({ shown: shown('allowed', 'off', { only_apps: [] }) });
  expect(screen.getByText(/No app is listed/)).toBeTruthy();
  await fireEvent.click(button('All but protected ones'));
  expect(sent.at(-1)).toEqual({ command: 'set_screen', only_apps: null, never_apps: [], full_resolution: false });
});

it('shows again what holds when a switch is refused', async () => {
  render(Powers, { shown: shown('allowed', 'off') });
  const box = screen.getByRole<HTMLInputElement>('checkbox', { name: /full resolution/ });
  refuse = true;
  await fireEvent.click(box);
  await vi.waitFor(() => expect(view.error?.code).toBe('bad_app_name'));
  await vi.waitFor(() => expect(box.checked).toBe(false));
});

it('lets agents read what others copied only after a second step; back is free', async () => {
  const { rerender } = render(Powers, { shown: shown('off', 'allowed') });
  const box = () => screen.getByRole<HTMLInputElement>('checkbox', { name: /Also what others copied/ });
  await fireEvent.click(box());
  expect([sent, box().checked]).toEqual([[], false]);
  expect(document.activeElement).toBe(button('Only what they wrote'));
  await fireEvent.click(button('Let agents read it'));
  expect(sent).toEqual([{ command: 'set_clipboard_foreign', on: true }]);

  await rerender({ shown: shown('off', 'allowed', { clipboard_foreign: true }) });
  await fireEvent.click(box());
  expect(sent.at(-1)).toEqual({ command: 'set_clipboard_foreign', on: false });
});

it('offers nothing to set while an organisation keeps the power off', () => {
  const locked = { ...power('computer_use', 'off'), locked_by: 'Example Ltd' };
  render(Powers, { shown: { ...shown('off', 'off'), powers: [locked] } });
  expect(screen.getByText('Switched off by Example Ltd')).toBeTruthy();
  expect(screen.queryByRole('group', { name: SCREEN_POWER })).toBeNull();
});

it('lets nobody widen the clipboard where an organisation fixed it, and says who', () => {
  const managed = { organisation: 'Example Ltd', path: '/etc/drawbridge/policy.toml', locked: ['clipboard.foreign'], overruled: [] };
  render(Powers, { shown: { ...shown('off', 'allowed'), managed } });
  const box = screen.getByRole<HTMLInputElement>('checkbox', { name: /Also what others copied/ });
  expect(box.disabled).toBe(true);
  expect(document.getElementById(box.getAttribute('aria-describedby') ?? '')?.textContent).toContain('Set by Example Ltd. Only what agents wrote themselves');
});

it('says what works here and what does not, each thing once and with its reason', () => {
  const { screen: seat } = shown('allowed', 'off', {
    features: ['screenshot', 'input', 'screenshot.region', 'input.key.hold', 'clipboard.write', 'brand.new', 'toString'],
    missing: [
      { feature: 'windows', why: 'no window manager' },
      { feature: 'window.list', why: 'no window manager' },
      { feature: 'screenshot.window', why: 'no Composite' },
      { feature: 'clipboard.read', why: 'no owner' },
      { feature: 'brand.new', why: 'nobody knows' },
    ],
  });
  expect(works(seat, SCREEN)).toEqual(['see', 'mouse', 'keyboard']);
  expect(lacks(seat, SCREEN)).toEqual([{ group: 'see_window', why: 'no Composite' }, { group: 'windows', why: 'no window manager' }]);
  expect([works(seat, COPY), lacks(seat, COPY)]).toEqual([['copy'], [{ group: 'copy', why: 'no owner' }]]);

  render(Powers, { shown: { ...shown('allowed', 'off'), screen: seat } });
  expect(screen.getByText('No Composite')).toBeTruthy();
});

it('leaves the details of screen and clipboard for later in the first run', () => {
  render(FirstRun, { shown: shown('allowed', 'allowed') });
  expect(screen.queryByRole('checkbox', { name: /full resolution/ })).toBeNull();
});

it('takes a name once, whatever its case', () => {
  expect(withApp(['Firefox'], ' firefox ')).toEqual(['Firefox']);
  expect(withApp(['firefox'], '  ')).toEqual(['firefox']);
  expect(withApp([], ' org.gimp.GIMP ')).toEqual(['org.gimp.GIMP']);
});
