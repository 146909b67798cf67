import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Finding, Snapshot } from '../generated/types';
import * as check from '../lib/doctor';
import { view } from '../lib/state.svelte';
import { chooseLanguage, t, type Key } from '../lib/text';
import { de } from '../lib/text/de';
import { en } from '../lib/text/en';
import Doctor from './Doctor.svelte';

const finding = (key: string, name: string, state: Finding['state'], more: Partial<Finding> = {}): Finding => ({
  check: name, state, text: `English of ${key}`, fix: state === 'warn' || state === 'fail' ? `English way out of ${key}` : null, action: null, key, params: {}, ...more,
});
const found: Finding[] = [
  finding('engine_running', 'engine', 'ok'),
  finding('settings_raised', 'settings', 'warn', { action: 'lower' }),
  finding('folder_read_only', 'state_folder', 'fail', { params: { path: '/home/ada/state' }, action: 'open_state_folder' }),
  finding('bubblewrap_install', 'bubblewrap', 'warn', { params: { command: 'sudo apt install bubblewrap' }, action: 'copy_install_bubblewrap' }),
  finding('login_off', 'start_at_login', 'info', { action: 'login_start_on' }),
  finding('of_tomorrow', 'new_thing', 'ok'),
];

let called: { name: string; payload: unknown }[] = [];
let answers: Record<string, () => unknown> = {};

beforeEach(() => {
  called = [];
  answers = { doctor: () => found, send: () => ({ reply: 'done' }) };
  view.error = null;
  view.snapshot = { gate: null } as Snapshot;
  mockIPC((name, payload) => {
    called.push({ name, payload });
    return answers[name]?.() ?? null;
  });
});
afterEach(() => {
  clearMocks();
  chooseLanguage('en', 'en');
  view.snapshot = null;
});
const calls = (name: string) => called.filter((one) => one.name === name);
const rows = (heading: string) => within(screen.getByRole('region', { name: heading })).getAllByRole('listitem');

it('looks by itself, and shows first what needs the person, the worst on top', async () => {
  render(Doctor);
  expect(screen.getByText('Looking at this computer…')).toBeTruthy();

  expect(await screen.findByText('3 things need you.')).toBeTruthy();
  expect(rows('What needs you').map((row) => within(row).getByRole('heading').textContent)).toEqual(['State folder', 'Bridge and settings', 'Wall 1: bubblewrap']);
  expect(rows('Drawbridge on this computer').length).toBe(2);
  expect(screen.getByText('/home/ada/state cannot be written, so nothing can be kept and nothing may be done.')).toBeTruthy();
  expect(screen.getByText('Install it in a terminal: sudo apt install bubblewrap')).toBeTruthy();
});

it('shows what it has no words for as the engine said it', async () => {
  render(Doctor);

  expect(await screen.findByText('English of of_tomorrow')).toBeTruthy();
  expect(rows('More').length).toBe(1);
});

it('is German in German, names included', async () => {
  chooseLanguage('de', 'en');
  render(Doctor);

  expect(await screen.findByText('3 Dinge brauchen Sie.')).toBeTruthy();
  expect(screen.getByText('/home/ada/state ist nicht beschreibbar, also kann nichts aufgehoben werden, und nichts darf geschehen.')).toBeTruthy();
  expect(screen.queryByText(/English of (settings|folder|bubblewrap|login|engine)/)).toBeNull();
});

it('asks before the bridge goes down, then does it and looks again', async () => {
  render(Doctor);
  await fireEvent.click(await screen.findByRole('button', { name: 'Lower the bridge: Bridge and settings' }));
  expect(calls('send')).toEqual([]);
  await fireEvent.click(screen.getByRole('button', { name: 'No, leave it' }));
  expect(calls('send')).toEqual([]);

  await fireEvent.click(screen.getByRole('button', { name: 'Lower the bridge: Bridge and settings' }));
  await fireEvent.click(screen.getByRole('button', { name: 'Lower the bridge' }));

  await vi.waitFor(() => expect(calls('doctor').length).toBe(2));
  expect(calls('send').map((one) => one.payload)).toEqual([{ command: { command: 'set_raised', raised: false } }]);
});

it('names what the shell is to do, never a path or a text', async () => {
  render(Doctor);
  await fireEvent.click(await screen.findByRole('button', { name: 'Open the folder: State folder' }));
  const copy = screen.getByRole('button', { name: 'Copy the command: Wall 1: bubblewrap' });
  await fireEvent.click(copy);

  expect(calls('doctor_fix').map((one) => one.payload)).toEqual([{ action: 'open_state_folder' }, { action: 'copy_install_bubblewrap' }]);
  await vi.waitFor(() => expect(copy.textContent).toBe('Copied'));
  // Nothing has changed by either.
  expect(calls('doctor').length).toBe(1);
});

it('says why something was refused, and looks no further', async () => {
  answers.set_login_start = () => Promise.reject({ code: 'not_written', message: 'The entry cannot be written.' });
  render(Doctor);
  await fireEvent.click(await screen.findByRole('button', { name: 'Switch it on: Start at login' }));

  await vi.waitFor(() => expect(view.error?.message).toBe('The entry cannot be written.'));
  expect(calls('doctor').length).toBe(1);
});

it('offers nothing that needs an engine where none began', async () => {
  view.snapshot = { gate: { kind: 'other', message: 'x', path: null, can_make_file: false, can_set_aside: false, problem: null, busy: false } } as Snapshot;
  render(Doctor);

  expect(await screen.findByText('3 things need you.')).toBeTruthy();
  expect(screen.queryByRole('button', { name: /Lower the bridge/ })).toBeNull();
  expect(screen.getByRole('button', { name: 'Open the folder: State folder' })).toBeTruthy();
});

it('keeps what was found when a new look fails, and says so', async () => {
  render(Doctor);
  await screen.findByText('3 things need you.');
  answers.doctor = () => Promise.reject({ code: 'no_home', message: 'This user has no home folder.' });
  await fireEvent.click(screen.getByRole('button', { name: 'Check again' }));

  expect((await screen.findByRole('alert')).textContent).toBe('This user has no home folder.');
  expect(screen.getByText('The check-up could not run.')).toBeTruthy();
  expect(rows('What needs you').length).toBe(3);
});

it('says that all is well when nothing needs anybody', async () => {
  answers.doctor = () => [found[0]];
  render(Doctor);

  expect(await screen.findByText('Everything is as it should be.')).toBeTruthy();
  expect(screen.queryByText('What needs you')).toBeNull();
});

it('has a label, words and a way out in both languages for everything that has them in one', () => {
  const keys = (text: object) => Object.keys(text).filter((key) => key.startsWith('doctor.')).sort();
  expect(keys(de)).toEqual(keys(en));
  const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((one) => one[1]).sort();
  for (const key of keys(en).filter((key) => !key.includes('.network_')) as Key[]) expect([key, places(de[key])]).toEqual([key, places(t(key))]);
  expect(check.fix(finding('settings_raised', 'settings', 'warn'))).toContain('drawbridge lower');
});
