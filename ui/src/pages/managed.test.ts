import { fireEvent, render, screen } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PowerView, Snapshot } from '../generated/types';
import { fixedThings, modeClosed, networkClosed, whoFixed } from '../lib/managed';
import { chooseLanguage } from '../lib/text';
import { snapshot } from '../../dev/snapshot';
import Browse from './Browse.svelte';
import Managed from './Managed.svelte';
import Powers from './Powers.svelte';

const by = 'Example Ltd';
const shell: PowerView = { power: 'shell', mode: 'ask_each_time', locked_by: null, ceiling: { mode: 'ask_each_time', by }, built: true, running: 0 };
const shown: Snapshot = {
  ...snapshot,
  powers: [{ ...shell, power: 'files', mode: 'off', locked_by: by, ceiling: undefined }, shell],
  shell: { ...snapshot.shell, ceiling: { by, confined_only: true, network: 'loopback' } },
  browse_roots: ['/srv/work'],
  managed: { organisation: by, path: '/etc/drawbridge/policy.toml', locked: ['powers.files', 'powers.shell', 'limits.max_concurrent', 'limits.command_timeout_seconds', 'browse.roots', 'proxy.url', 'proxy.no_proxy'], overruled: ['max_concurrent'] },
};
let sent: unknown[] = [];

beforeEach(() => {
  sent = [];
  mockIPC((command, payload) => {
    if (command === 'send') sent.push((payload as { command: unknown }).command);
    return { reply: 'done' };
  });
});
afterEach(() => {
  clearMocks();
  chooseLanguage('en', 'en');
});

it('says what is fixed, each thing once, and what does not count', () => {
  render(Managed, { shown });

  expect(screen.getByRole('region', { name: 'Set by Example Ltd' })).toBeTruthy();
  expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual(['Files', 'Commands', 'Limits', 'Folders for agents', 'Proxy']);
  expect(screen.getByText(/says otherwise about max_concurrent/)).toBeTruthy();
  expect(screen.getByText('/etc/drawbridge/policy.toml')).toBeTruthy();
});

it('shows nothing where nobody has fixed anything', () => {
  render(Managed, { shown: { ...shown, managed: null } });
  expect(document.body.textContent?.trim()).toBe('');
});

it('offers no mode beyond the ceiling and says why to everybody', async () => {
  render(Powers, { shown });

  expect(screen.getByText('Switched off by Example Ltd')).toBeTruthy();
  const commands = screen.getByRole('group', { name: 'Commands' });
  const note = document.getElementById(commands.getAttribute('aria-describedby') ?? '');
  expect(note?.textContent).toContain('Set by Example Ltd. This can go no further than “Ask each time”.');
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Ask once per chat' }).disabled).toBe(true);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Full access' }).disabled).toBe(true);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'This computer only' }).disabled).toBe(false);
  expect(screen.getByText(/Commands run confined\. Commands reach no further than “This computer only”/)).toBeTruthy();
  await fireEvent.click(screen.getByRole('button', { name: 'Off' }));
  expect(sent).toEqual([{ command: 'set_power', power: 'shell', mode: 'off' }]);
});

it('lets nobody change folders that are fixed', () => {
  render(Browse, { shown });

  expect(screen.getAllByRole<HTMLButtonElement>('button').map((button) => button.disabled)).toEqual([true, true]);
  expect(screen.getByText(/Only these folders can be listed and attached/)).toBeTruthy();
});

it('names an organisation without a name in the language of the person', () => {
  chooseLanguage('de', 'en');
  expect([whoFixed('your organisation'), whoFixed(null), whoFixed(by)]).toEqual(['Ihrer Organisation', 'Ihrer Organisation', by]);
  expect(fixedThings(['powers.shell', 'accounts', 'updates.enabled', 'made.up'])).toEqual(['Befehle', 'Konten', 'Updates', 'made.up']);
});

it('knows what is beyond a ceiling', () => {
  expect(['off', 'ask_each_time', 'ask_once_per_chat', 'allowed'].map((mode) => modeClosed(shell, mode))).toEqual([false, false, true, true]);
  expect(['none', 'loopback', 'all'].map((network) => networkClosed(shown.shell, network))).toEqual([false, false, true]);
  expect(modeClosed({ ...shell, ceiling: undefined }, 'allowed') || networkClosed(snapshot.shell, 'all')).toBe(false);
});
