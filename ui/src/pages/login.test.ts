import { fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LoginStart } from '../lib/bridge';
import { view } from '../lib/state.svelte';
import Diagnostics from './Diagnostics.svelte';
import Login from './Login.svelte';

const off: LoginStart = { on: false, available: true, place: '/home/ada/.config/autostart/drawbridge.desktop', problem: null, state: 'off', program: null };
let called: { name: string; payload: unknown }[] = [];
let answers: Record<string, () => unknown> = {};

beforeEach(() => {
  called = [];
  answers = {};
  view.error = null;
  mockIPC((name, payload) => {
    called.push({ name, payload });
    return answers[name]?.() ?? null;
  });
});
afterEach(clearMocks);
const names = () => called.map((one) => one.name);
const refused = (code: string) => () => {
  throw { code, message: 'No.' };
};

it('switches on what starts with the session, and names the file', async () => {
  answers = { login_start: () => off, set_login_start: () => ({ ...off, on: true, state: 'on' }) };
  render(Login);
  const box = await screen.findByRole<HTMLInputElement>('checkbox');
  expect(box.checked).toBe(false);

  await fireEvent.click(box);

  await waitFor(() => expect(box.checked).toBe(true));
  expect(called.at(-1)).toEqual({ name: 'set_login_start', payload: { on: true } });
  expect(screen.getByText(/autostart\/drawbridge\.desktop/)).toBeTruthy();
});

it('shows what is really so when the system refused', async () => {
  answers = { login_start: () => off, set_login_start: refused('login_not_written') };
  render(Login);
  const box = await screen.findByRole<HTMLInputElement>('checkbox');

  await fireEvent.click(box);

  await waitFor(() => expect(view.error?.code).toBe('login_not_written'));
  await waitFor(() => expect(box.checked).toBe(false));
});

it('tells that another program starts, and repairs it', async () => {
  answers = {
    login_start: () => ({ ...off, state: 'gone', program: '/old/Drawbridge.AppImage', problem: 'in English' }),
    set_login_start: () => ({ ...off, on: true, state: 'on' }),
  };
  render(Login);
  expect(await screen.findByText(/\/old\/Drawbridge\.AppImage is not there any more/)).toBeTruthy();

  await fireEvent.click(screen.getByRole('button', { name: 'Let this one start' }));

  await waitFor(() => expect(screen.queryByText(/not there any more/)).toBeNull());
  expect(screen.getByRole<HTMLInputElement>('checkbox').checked).toBe(true);
});

it('offers nothing that cannot be done, and says why', async () => {
  answers = { login_start: () => ({ ...off, available: false, state: 'practice' }) };
  const { unmount } = render(Login);
  expect((await screen.findByRole<HTMLInputElement>('checkbox')).disabled).toBe(true);
  expect(screen.getByText(/On the practice platform/)).toBeTruthy();
  unmount();

  answers = { login_start: () => ({ ...off, state: 'foreign' }) };
  const second = render(Login);
  expect(await screen.findByText(/was not written by Drawbridge/)).toBeTruthy();
  expect(screen.getByRole<HTMLInputElement>('checkbox').disabled).toBe(true);
  second.unmount();

  answers = { login_start: refused('not_for_the_page') };
  const { container } = render(Login);
  await waitFor(() => expect(names().filter((name) => name === 'login_start').length).toBe(3));
  expect(container.querySelector('input')).toBeNull();
  expect(view.error).toBeNull();
});

it('copies diagnostics only after they were shown', async () => {
  answers = { diagnostics: () => 'Drawbridge: 0.1.0\nLink: connected\n' };
  render(Diagnostics);
  expect(screen.queryByRole('button', { name: 'Copy' })).toBeNull();

  await fireEvent.click(screen.getByRole('button', { name: 'Show diagnostics…' }));
  const area = await screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Diagnostics' });
  expect([area.value, area.readOnly]).toEqual(['Drawbridge: 0.1.0\nLink: connected\n', true]);
  expect(document.activeElement).toBe(area);
  await fireEvent.click(screen.getByRole('button', { name: 'Copy' }));

  expect(await screen.findByText('Copied. Paste it where you ask for help.')).toBeTruthy();
  expect(called.at(-1)).toEqual({ name: 'copy', payload: { what: 'diagnostics' } });
  await fireEvent.click(screen.getByRole('button', { name: 'Close' }));
  expect(screen.queryByRole('textbox')).toBeNull();
});

it('does not say that something was copied when it was not', async () => {
  answers = { diagnostics: () => 'text', copy: refused('no_clipboard') };
  render(Diagnostics);
  await fireEvent.click(screen.getByRole('button', { name: 'Show diagnostics…' }));
  await fireEvent.click(await screen.findByRole('button', { name: 'Copy' }));

  await waitFor(() => expect(view.error?.code).toBe('no_clipboard'));
  expect(screen.queryByText(/^Copied/)).toBeNull();
});
