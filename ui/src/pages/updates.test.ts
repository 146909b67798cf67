import { fireEvent, render, screen } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { snapshot } from '../../dev/snapshot';
import type { UpdateView } from '../lib/bridge';
import Updates from './Updates.svelte';

const idle: UpdateView = { installed_as: 'appimage', way: 'own', state: 'idle', version: null, notes: null, percent: null, problem: null, problem_code: null, channel: 'stable', can_check: true, has_page: true };
const found: UpdateView = { ...idle, state: 'found', version: '9.1.0', notes: 'Faster.\n<b>Safer.</b>' };
let called: string[] = [];
let views: Record<string, UpdateView | Error>;

beforeEach(() => {
  called = [];
  views = { updates: idle };
  mockIPC((command) => {
    called.push(command);
    const answer = views[command];
    if (answer instanceof Error) throw { code: 'bad_signature', message: answer.message };
    return answer ?? null;
  });
});
afterEach(() => {
  clearMocks();
  vi.useRealTimers();
});

it('looks when it is asked to, and says what is new as plain text', async () => {
  views.check_updates = found;
  render(Updates, { shown: snapshot });
  expect(await screen.findByText('You have version 0.1.0. It runs as an AppImage.')).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Install and start again' })).toBeNull();

  await fireEvent.click(screen.getByRole('button', { name: 'Look now' }));

  expect(await screen.findByText('Version 9.1.0 is available.')).toBeTruthy();
  expect(document.querySelector('.notes')?.textContent).toBe('Faster.\n<b>Safer.</b>');
  expect(document.querySelector('.notes b')).toBeNull();
  expect(screen.getByRole('button', { name: 'Install and start again' })).toBeTruthy();
});

it('takes a version only on a click, and shows why it could not', async () => {
  views.updates = found;
  views.install_update = new Error('The download is not signed by whoever makes Drawbridge (its signature does not fit).');
  render(Updates, { shown: snapshot });
  await fireEvent.click(await screen.findByRole('button', { name: 'Install and start again' }));

  expect((await screen.findByRole('alert')).textContent).toContain('so it was thrown away. Do not install it by hand. Nothing was changed. In detailThe download is not signed');
  expect(called.filter((command) => command === 'install_update')).toHaveLength(1);
});

it('shows how far a download is', async () => {
  views.updates = { ...found, state: 'downloading', percent: 42 };
  render(Updates, { shown: snapshot });

  expect((await screen.findByRole<HTMLProgressElement>('progressbar', { name: 'Download' })).value).toBe(42);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Look now' }).disabled).toBe(true);
});

it('leads to the release page where this copy cannot replace itself', async () => {
  views.updates = { ...found, installed_as: 'deb', way: 'link' };
  render(Updates, { shown: snapshot });

  expect(await screen.findByText(/Get the package from the release page/)).toBeTruthy();
  expect(screen.queryByRole('button', { name: 'Install and start again' })).toBeNull();
  await fireEvent.click(screen.getByRole('button', { name: 'Open release page' }));
  expect(called).toContain('open_release');
});

it('looks for nothing where an organisation brings updates, and fixes the channel where that is fixed', async () => {
  const managed = { organisation: 'Example Ltd', path: '/etc/drawbridge/policy.toml', locked: ['updates.enabled'], overruled: [] };
  views.updates = { ...idle, way: 'managed' };
  const { unmount } = render(Updates, { shown: { ...snapshot, managed } });
  expect(await screen.findByText(/Set by Example Ltd\. Newer versions come from there/)).toBeTruthy();
  expect(screen.queryAllByRole('button')).toEqual([]);
  unmount();

  views.updates = { ...idle, channel: 'beta' };
  render(Updates, { shown: { ...snapshot, managed: { ...managed, locked: ['updates.channel'] } } });
  const beta = await screen.findByRole<HTMLButtonElement>('button', { name: 'Also test versions' });
  expect([beta.disabled, beta.getAttribute('aria-pressed')]).toEqual([true, 'true']);
});

it('says where to get versions when the build knows no place', async () => {
  views.updates = { ...idle, way: 'link', installed_as: 'other', can_check: false, has_page: false };
  render(Updates, { shown: snapshot });

  expect(await screen.findByText(/does not know where newer versions are/)).toBeTruthy();
  expect(screen.queryAllByRole('button')).toEqual([]);
});
