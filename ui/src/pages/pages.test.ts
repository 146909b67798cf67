import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ChatView, Prefs, PowerView, RuleView, Snapshot, UndoView } from '../generated/types';
import { look } from '../lib/prefs.svelte';
import { view } from '../lib/state.svelte';
import Notices from '../lib/Notices.svelte';
import Changes from './Changes.svelte';
import Chats from './Chats.svelte';
import FirstRun from './FirstRun.svelte';
import Powers from './Powers.svelte';
import Rules from './Rules.svelte';

const power = (name: string, mode: string, built = true): PowerView => ({ power: name, mode, locked_by: null, built, running: 0 });
const chat: ChatView = {
  session_id: 'one', folder: '/home/ada/Quarterly report', revision: 1, active: true, link: 'connected', in_flight: 0, requests: 3, revoked: false,
  last_used_ms: 1000, attached: true, attached_ms: 1000, last_operation: null, changes: { created: 1, written: 0, moved: 0, deleted: 0 }, powers_used: ['files'], modes: [], privacy: { on: false, own: null, open_elsewhere: [], asked: [] },
};
const rule: RuleView = { id: 'r1', kind: 'command', session_id: null, folder: null, power: 'shell', program: '/usr/bin/git', words: ['log', '*'], any_more: false, origin: 'answered', at_ms: 1000 };
const shown: Snapshot = {
  version: '0.1.0', raised: false, trouble: null, notices: [],
  account: { state: 'signed_in', id: 'default', platform_url: 'https://platform.test', authorize_url: null, problem: null },
  link: { state: 'connected', reason: null }, chats: [chat], powers: [power('files', 'allowed'), power('shell', 'ask_each_time'), power('clipboard', 'off', false)],
  shell: { mode: 'confined', network: 'none', confinement_missing: null }, prompts: [], activity: [],
  audit: { path: '/state/audit.log', bytes: 0, records: 0, unavailable: false }, tray: 'shown', rules: [rule],
  offered_folder: null, browse_roots: [], last_raise: null, window_wanted: 0, gate: null, accounts: [], secrets: { place: 'keychain', movable_to: null }, managed: null,
  screen: { seat: 'x11', features: [], missing: [], only_apps: null, never_apps: [], full_resolution: false, clipboard_foreign: false, in_use: null },
  models: { servers: [], uses: [], private_all: false, review: false, preview_bytes: 0 }, devices: { devices: [], looked: false },
};
const entry: UndoView = { number: 5, at_ms: 1000, session_id: 'one', kind: 'write', path: '/home/ada/Quarterly report/a.md', moved_to: null, bytes: 3, restored: false };

let sent: unknown[] = [];
let called: string[] = [];
let answer: (command: { command: string }) => unknown;
let saved: Prefs[] = [];

beforeEach(() => {
  sent = [];
  called = [];
  saved = [];
  answer = () => ({ reply: 'done' });
  view.error = null;
  mockIPC((name, payload) => {
    called.push(name);
    if (name === 'set_prefs') saved.push((payload as { prefs: Prefs }).prefs);
    if (name !== 'send') return null;
    const { command } = payload as { command: { command: string } };
    sent.push(command);
    return answer(command);
  });
});
afterEach(clearMocks);
const button = (name: string | RegExp) => screen.getByRole('button', { name });

it('gives full access only by a second step, with the focus on staying confined', async () => {
  render(Powers, { shown });
  await fireEvent.click(button('Full access'));
  expect(sent).toEqual([]);
  expect(document.activeElement).toBe(button('Stay confined'));

  await fireEvent.keyDown(button('Stay confined'), { key: 'Escape' });
  expect(screen.queryByRole('alertdialog')).toBeNull();
  expect(sent).toEqual([]);

  await fireEvent.click(button('Full access'));
  await fireEvent.click(button('Give full access'));
  expect(sent).toEqual([{ command: 'set_shell', mode: 'full', network: 'none' }]);
});

it('keeps Tab among the answers of a confirmation', async () => {
  render(Powers, { shown });
  await fireEvent.click(button('Full access'));
  const yes = button('Give full access');
  yes.focus();

  await fireEvent.keyDown(yes, { key: 'Tab' });

  expect(document.activeElement).toBe(button('Stay confined'));
});

it('offers no switch for what this version cannot do', () => {
  render(Powers, { shown });
  expect(screen.getByText('Clipboard')).toBeTruthy();
  expect(screen.queryByRole('group', { name: 'Clipboard' })).toBeNull();
});

it('sets a power by its name and mode', async () => {
  render(Powers, { shown });
  await fireEvent.click(within(screen.getByRole('group', { name: 'Files' })).getByRole('button', { name: 'Off' }));
  expect(sent).toEqual([{ command: 'set_power', power: 'files', mode: 'off' }]);
});

it('takes a folder back only after asking, and offers a way out', async () => {
  render(Chats, { shown, toLinks: () => {}, toActs: () => {} });
  await fireEvent.click(button('Forget: /home/ada/Quarterly report'));
  await fireEvent.click(button('Keep'));
  expect(sent).toEqual([]);

  await fireEvent.click(button('Forget: /home/ada/Quarterly report'));
  await fireEvent.click(button('Take it back'));
  expect(sent).toEqual([{ command: 'forget', session_id: 'one' }]);
});

it('sets a mode for one chat and shows again what holds when that is refused', async () => {
  render(Chats, { shown, toLinks: () => {}, toActs: () => {} });
  await fireEvent.click(button('Powers in this chat'));
  const select = screen.getByRole<HTMLSelectElement>('combobox', { name: 'Commands' });
  answer = () => Promise.reject({ code: 'not_built', message: 'x' });

  await fireEvent.change(select, { target: { value: 'allowed' } });

  expect(sent).toEqual([{ command: 'set_chat_power', session_id: 'one', power: 'shell', mode: 'allowed' }]);
  await vi.waitFor(() => expect(select.value).toBe(''));
  expect(view.error?.code).toBe('not_built');
});

it('tells what could not be taken back, with its reason', async () => {
  answer = (command) =>
    command.command === 'undo_list' ? { reply: 'undo', entries: [entry, { ...entry, number: 4, kind: 'create' }] } : { reply: 'restored', count: 1, failed: [{ label: entry.path, value: 'it was changed since' }] };
  render(Changes, { chat: 'one', folder: chat.folder });
  await fireEvent.click(await screen.findByRole('button', { name: 'Take back all' }));
  expect(screen.getByText(/Take back 2 changes/)).toBeTruthy();

  await fireEvent.click(within(screen.getByRole('alertdialog')).getByRole('button', { name: 'Take back all' }));

  expect(await screen.findByText('1 change taken back. 1 change could not be taken back:')).toBeTruthy();
  expect(screen.getByText(/it was changed since/)).toBeTruthy();
  expect(sent.filter((command) => (command as { command: string }).command === 'undo_restore_chat')).toEqual([{ command: 'undo_restore_chat', session_id: 'one' }]);
});

it('loosens one word of a rule and leaves the others as they are', async () => {
  render(Rules, { shown });
  await fireEvent.click(button('Change words'));
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Let word 1 be any word' }));
  await fireEvent.click(button('Keep this rule'));
  expect(sent).toEqual([{ command: 'set_rule', id: 'r1', words: ['*', '*'], any_more: false }]);
});

it('keeps what was typed into a rule that the engine refuses', async () => {
  answer = () => Promise.reject({ code: 'too_wide', message: 'An interpreter may not run anything.' });
  render(Rules, { shown });
  await fireEvent.click(button('Change words'));
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Any further words may follow' }));
  await fireEvent.click(button('Keep this rule'));

  await vi.waitFor(() => expect(view.error?.message).toBe('An interpreter may not run anything.'));
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Any further words may follow' }).checked).toBe(true);
});

it('remembers each first step and puts the focus on its heading', async () => {
  look.prefs = { ...look.prefs, first_run: 0 };
  render(FirstRun, { shown });
  await fireEvent.click(button('Continue'));
  await vi.waitFor(() => expect(document.activeElement?.textContent).toBe('Sign in to your platform'));
  await fireEvent.click(button('Skip all'));
  await vi.waitFor(() => expect(saved.map((prefs) => prefs.first_run)).toEqual([1, 4]));
});

it('lets settings that cannot be read be replaced only after asking', async () => {
  render(Notices, { shown: { ...shown, trouble: { code: 'settings_broken', message: 'x' } } });
  await fireEvent.click(button('Start with fresh settings'));
  expect(sent).toEqual([]);

  await fireEvent.click(within(screen.getByRole('alertdialog')).getByRole('button', { name: 'Start with fresh settings' }));
  expect(sent).toEqual([{ command: 'settings_afresh' }]);
});

it('asks for the changes of an open chat once, and again only when there are others', async () => {
  answer = () => ({ reply: 'undo', entries: [entry] });
  const page = render(Chats, { shown, toLinks: () => {}, toActs: () => {} });
  await fireEvent.click(button(/What changed/));
  await screen.findByText('a.md');
  const asked = () => sent.filter((command) => (command as { command: string }).command === 'undo_list').length;
  expect(asked()).toBe(1);

  // A new picture with new objects that say the same.
  for (let round = 0; round < 3; round += 1) await page.rerender({ shown: structuredClone(shown) });
  expect(asked()).toBe(1);

  await page.rerender({ shown: { ...shown, chats: [{ ...chat, changes: { ...chat.changes, written: 1 } }] } });
  expect(asked()).toBe(2);
});

it('tells two chats of the same folder apart in their rules', () => {
  const held = (id: string, session_id: string): RuleView => ({ ...rule, id, kind: 'power', session_id, folder: '/home/ada/garden', program: null, words: [] });
  render(Rules, { shown: { ...shown, rules: [held('r1', 'chat-7f3a'), held('r2', 'chat-91bc')] } });
  expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual([expect.stringContaining('Chat chat-7f3a'), expect.stringContaining('Chat chat-91bc')]);
});

it('hears the first press of a double click alone, where the second would do something big', async () => {
  look.prefs = { ...look.prefs, first_run: 1, practice: false };
  render(FirstRun, { shown: { ...shown, account: { ...shown.account, state: 'signed_out' } } });
  for (const name of ['Try it without an account', 'Skip this step', 'Skip all']) await fireEvent.click(button(name), { detail: 2 });
  expect(called.filter((name) => name === 'set_practice' || name === 'set_prefs')).toEqual([]);

  await fireEvent.click(button('Try it without an account'), { detail: 1 });
  expect(called).toContain('set_practice');
});

it('says what is left to do on the practice platform, signed in or not', async () => {
  look.prefs = { ...look.prefs, first_run: 1, practice: true };
  const page = render(FirstRun, { shown: { ...shown, account: { ...shown.account, state: 'signed_out' } } });
  expect(screen.getByText(/Sign in there/)).toBeTruthy();

  await page.rerender({ shown });
  expect(screen.queryByText(/Sign in there/)).toBeNull();
  expect(screen.getByText(/signed in there/)).toBeTruthy();
  look.prefs = { ...look.prefs, practice: false };
});

it('takes one change back for one double click, and says so below the rows', async () => {
  answer = (command) => (command.command === 'undo_list' ? { reply: 'undo', entries: [entry, { ...entry, number: 4, path: '/home/ada/Quarterly report/b.md' }] } : { reply: 'restored', count: 1, failed: [] });
  render(Changes, { chat: 'one', folder: chat.folder });
  const take = await screen.findByRole('button', { name: /^Take back: .*a\.md/ });
  await fireEvent.click(take, { detail: 2 });
  expect(sent).toEqual([{ command: 'undo_list', session_id: 'one' }]);

  await fireEvent.click(take, { detail: 1 });
  const said = await screen.findByText('1 change taken back.');
  expect(screen.getByRole('list').compareDocumentPosition(said) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
});

it('highlights the harmless answer where the other is dangerous', async () => {
  render(Powers, { shown });
  await fireEvent.click(button('Full access'));
  expect(button('Stay confined').classList.contains('primary')).toBe(true);
  expect(button('Give full access').classList.contains('primary')).toBe(false);
});
