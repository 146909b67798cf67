import { emit } from '@tauri-apps/api/event';
import { clearMocks, mockIPC, mockWindows } from '@tauri-apps/api/mocks';
import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { PillView } from '../lib/bridge';
import { chooseLanguage } from '../lib/text';
import Pill from './Pill.svelte';

const used: PillView = { folder: '/home/ada/Quarterly report', pictures: 3, acts: 12, person_active: false, stopped: false, failed: false };
let sent: unknown[] = [];
let called: string[] = [];

async function open(first: PillView | null, refuse = false) {
  sent = [];
  called = [];
  mockWindows('pill');
  mockIPC(
    (name, payload) => {
      called.push(name);
      if (name === 'pill') return first;
      if (name === 'desktop') return { tray: true, hot_key: 'Ctrl+Alt+Shift+R', language: 'en' };
      if (name === 'prefs') return { language: 'en' };
      if (name !== 'send') return null;
      sent.push((payload as { command: unknown }).command);
      if (refuse) throw { code: 'audit_unavailable', message: 'x' };
      return { reply: 'done' };
    },
    { shouldMockEvents: true },
  );
  render(Pill);
  await settle();
}
const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  await tick();
};
const told = async (view: PillView) => {
  await emit('pill', view);
  await settle();
};
const words = () => [screen.getByRole('heading').textContent, document.querySelector('.told p')?.textContent];

afterEach(() => {
  cleanup();
  clearMocks();
  vi.useRealTimers();
  chooseLanguage('en', 'en');
});

it('says who uses the screen, where and how much', async () => {
  await open(used);
  expect(words()).toEqual(['An agent sees and uses this screen', 'Quarterly report · 3 pictures, 12 acts']);

  await told({ ...used, folder: null, pictures: 1, acts: 1 });
  expect(words()[1]).toBe('1 picture, 1 act');
});

it('says that the agent waits for the person, also aloud, and never every count', async () => {
  await open(used);
  const status = () => screen.getByRole('status').textContent;
  const before = status();
  await told({ ...used, acts: 13 });
  expect(status()).toBe(before);

  await told({ ...used, person_active: true });
  expect(words()[1]).toBe('waits while you use the mouse or keyboard');
  expect(status()).toContain('It waits while you use the mouse or keyboard');
});

it('raises the bridge by one press and says so', async () => {
  await open(used);
  const stop = screen.getByRole<HTMLButtonElement>('button', { name: 'Stop' });
  expect(stop.title).toContain('Ctrl+Alt+Shift+R');

  await fireEvent.click(stop);
  expect(sent).toEqual([{ command: 'set_raised', raised: true }]);
  expect(words()[0]).toBe('Stopping…');

  await told({ ...used, stopped: true });
  expect(words()).toEqual(['Stopped: nothing can act', 'until you lower the bridge']);
  expect(screen.queryByRole('button', { name: 'Stop' })).toBeNull();
});

it('lets the second of two hasty presses do nothing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await open({ ...used, stopped: true });
  const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Open Drawbridge' });
  expect(button.disabled).toBe(true);

  await vi.advanceTimersByTimeAsync(1_000);
  await settle();
  await fireEvent.click(button);
  expect(called).toContain('show_main');
});

it('says where to stop when it cannot, and can be pressed again', async () => {
  await open(used, true);
  await fireEvent.click(screen.getByRole('button', { name: 'Stop' }));
  await settle();
  expect(words()).toEqual(['This could not be stopped here', 'Use the tray menu: Stop, or Quit.']);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Stop' }).disabled).toBe(false);

  await told({ ...used, acts: 13 });
  expect(words()[0]).toBe('This could not be stopped here');
});

it('says nothing before it knows what is so', async () => {
  await open(null);
  expect(screen.queryByRole('heading')).toBeNull();
  await told(used);
  expect(words()[0]).toBe('An agent sees and uses this screen');
});
