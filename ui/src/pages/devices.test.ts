import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ChatView, Command, DeviceView, PowerView, Snapshot } from '../generated/types';
import { view } from '../lib/state.svelte';
import { chooseLanguage } from '../lib/text';
import { snapshot } from '../../dev/snapshot';
import Chats from './Chats.svelte';
import Devices from './Devices.svelte';
import Powers from './Powers.svelte';

const power = (name: string, mode: string): PowerView => ({ power: name, mode, locked_by: null, built: true, running: 0 });
const device = (id: string, more: Partial<DeviceView> = {}): DeviceView => ({
  id, kind: 'serial', place: `/dev/${id}`, description: `Port ${id}`, present: true, shared: false, from_config: false, added: null, denied: null, held_by: null, how: null, entry: null, lines: [], ...more,
});
const shown = (mode: string, devices: DeviceView[], looked = true): Snapshot => ({ ...snapshot, powers: [power('hardware', mode)], devices: { devices, looked } });

let sent: Command[] = [];
let refuse: { code: string; message: string } | null;

beforeEach(() => {
  sent = [];
  refuse = null;
  view.error = null;
  mockIPC((name, payload) => {
    if (name !== 'send') return null;
    sent.push((payload as { command: Command }).command);
    if (refuse) throw refuse;
    return { reply: 'done' };
  });
});
afterEach(clearMocks);

const button = (name: string | RegExp) => screen.getByRole<HTMLButtonElement>('button', { name });
const box = (name: string | RegExp) => screen.getByRole<HTMLInputElement>('checkbox', { name });
const row = (id: string) => document.querySelector<HTMLElement>(`[data-device="${id}"]`)!;

it('shares each device by its own switch, and shows again what holds when that is refused', async () => {
  render(Devices, { shown: shown('allowed', [device('a'), device('b', { shared: true })]) });
  await fireEvent.click(box(/Port a/));
  await fireEvent.click(box(/Port b/));
  expect(sent).toEqual([{ command: 'share_device', id: 'a', shared: true }, { command: 'share_device', id: 'b', shared: false }]);

  refuse = { code: 'unknown_device', message: 'It is gone.' };
  await fireEvent.click(box(/Port a/));
  await vi.waitFor(() => expect(view.error?.code).toBe('unknown_device'));
  expect(box(/Port a/).checked).toBe(false);
});

it('cannot take back what the configuration shares, and says so', () => {
  render(Devices, { shown: shown('allowed', [device('a', { shared: true, from_config: true })]) });
  expect(box(/Port a/).disabled).toBe(true);
  expect(document.getElementById(box(/Port a/).getAttribute('aria-describedby') ?? '')?.textContent).toContain('Shared by the configuration');
});

it('tells who has a device open and how, who is away and who may not be opened', () => {
  const chat = snapshot.chats[0]!;
  render(Devices, {
    shown: shown('allowed', [
      device('cli', { held_by: 'cli', how: '9600 baud, 8N1' }), device('chat', { held_by: chat.session_id }), device('gone', { held_by: 'c-gone' }),
      device('away', { present: false, shared: true, place: '' }), device('denied', { denied: 'Join the group dialout.' }),
    ]),
  });
  expect(row('cli').textContent).toContain('In use by the command line');
  expect(row('cli').textContent).toContain('9600 baud, 8N1');
  expect(row('chat').textContent).toContain('In use by the chat in Quarterly report');
  expect(row('gone').textContent).toContain('In use by chat c-gone');
  expect(row('away').textContent).toContain('Not here now');
  expect(row('denied').textContent).toContain('Join the group dialout.');
});

it('tells of an entry of the configuration that nothing here matches, and only once somebody has looked', async () => {
  const entry = device('usb:2341:0043', { kind: 'usb', place: '', description: '', present: false, from_config: true, entry: 'usb:2341:0043' });
  const page = render(Devices, { shown: shown('allowed', [entry]) });
  expect(box(/usb:2341:0043/).disabled).toBe(true);
  expect(row('usb:2341:0043').textContent?.replace(/\s+/g, ' ')).toContain('Shared Not here now Shared by the configuration');
  await page.rerender({ shown: shown('off', [entry], false) });
  expect(row('usb:2341:0043').textContent).not.toContain('Not here now');
});

it('names a port that was added by its path, in the language of the page, and lines by what the board calls them', () => {
  chooseLanguage('de', 'en');
  render(Devices, { shown: shown('allowed', [device('a', { description: '', place: '/dev/pts/7', added: '/dev/pts/7' }), device('chip', { kind: 'gpio', lines: [{ number: 4, name: 'RELAY' }, { number: 17, name: 'DOOR' }] })]) });
  chooseLanguage('en', 'en');
  expect(row('a').querySelector('strong')?.textContent).toBe('Serieller Anschluss /dev/pts/7');
  expect(row('chip').textContent).toContain('4 RELAY, 17 DOOR');
});

it('groups by kind, and tells of guarded USB devices only where there is USB', async () => {
  const page = render(Devices, { shown: shown('allowed', [device('a'), device('chip', { kind: 'gpio' })]) });
  expect(within(screen.getByRole('list', { name: 'Serial ports' })).getAllByRole('listitem').length).toBe(1);
  expect(screen.queryByRole('list', { name: 'USB devices' })).toBeNull();
  expect(screen.queryByText(/Some USB devices are seen and cannot be used/)).toBeNull();
  await page.rerender({ shown: shown('allowed', [device('u', { kind: 'usb' })]) });
  expect(screen.getByText(/Some USB devices are seen and cannot be used/)).toBeTruthy();
});

it('looks only when asked while the power is off, and says that nobody has', async () => {
  const page = render(Devices, { shown: shown('off', [], false) });
  expect(screen.getByText('Nobody has looked yet')).toBeTruthy();
  expect(sent).toEqual([]);
  await fireEvent.click(button('Look for devices'));
  expect(sent).toEqual([{ command: 'look_at_devices' }]);

  await page.rerender({ shown: shown('off', []) });
  expect(screen.getByText('No device found')).toBeTruthy();
  await page.rerender({ shown: shown('off', [device('a', { shared: true })]) });
  expect(screen.getByText(/The power is off, so shared devices cannot be used/)).toBeTruthy();
  expect(button('Look again')).toBeTruthy();
});

it('adds a port by its path and keeps the path when it is none', async () => {
  render(Devices, { shown: shown('allowed', []) });
  await fireEvent.click(button('Add a port by path…'));
  const input = await vi.waitFor(() => screen.getByLabelText<HTMLInputElement>('Path of the port'));
  await vi.waitFor(() => expect(document.activeElement).toBe(input));
  expect(button('Add').disabled).toBe(true);
  await fireEvent.input(input, { target: { value: ' /etc/passwd ' } });
  refuse = { code: 'no_such_code', message: '/etc/passwd is no serial port.' };
  await fireEvent.click(button('Add'));
  expect((await screen.findByRole('alert')).textContent).toBe('/etc/passwd is no serial port.');
  expect([input.value, input.getAttribute('aria-invalid'), document.activeElement === input]).toEqual([' /etc/passwd ', 'true', true]);

  refuse = null;
  await fireEvent.input(input, { target: { value: '/dev/pts/7' } });
  await fireEvent.click(button('Add'));
  expect(await screen.findByText('/dev/pts/7 was added. Share it with its switch.')).toBeTruthy();
  expect(sent).toEqual([{ command: 'add_port', path: '/etc/passwd' }, { command: 'add_port', path: '/dev/pts/7' }]);
  expect(document.activeElement).toBe(button('Add a port by path…'));
});

it('gives the form for a port up with Escape', async () => {
  render(Devices, { shown: shown('allowed', []) });
  await fireEvent.click(button('Add a port by path…'));
  await fireEvent.keyDown(await screen.findByLabelText('Path of the port'), { key: 'Escape' });
  expect(screen.queryByLabelText('Path of the port')).toBeNull();
  await vi.waitFor(() => expect(document.activeElement).toBe(button('Add a port by path…')));
  expect(sent).toEqual([]);
});

it('removes a port that was added by path, as the picture names it', async () => {
  render(Devices, { shown: shown('allowed', [device('a', { added: '/dev/pts/7' })]) });
  await fireEvent.click(button('Remove /dev/pts/7'));
  expect(sent).toEqual([{ command: 'remove_port', path: '/dev/pts/7' }]);
});

it('shows what devices say of themselves as text', () => {
  render(Devices, { shown: shown('allowed', [device('a', { description: '<b>FTDI</b>\\u{202E}' })]) });
  expect(row('a').querySelector('strong')?.textContent).toBe('<b>FTDI</b>\\u{202E}');
});

it('counts shared devices beside the power and leads to their page', async () => {
  const lead = vi.fn();
  const page = render(Powers, { shown: shown('off', []), lead });
  expect(screen.getByText('No device is shared, so agents can use none.')).toBeTruthy();
  await page.rerender({ shown: shown('allowed', [device('a', { shared: true })]), lead });
  expect(screen.getByText('1 device is shared.')).toBeTruthy();
  await fireEvent.click(button('Devices and sharing'));
  expect(lead).toHaveBeenCalledWith('devices');
});

const chat: ChatView = { ...snapshot.chats[0]!, session_id: 'one', modes: [] };
const chats = (privacy: Partial<ChatView['privacy']>, more: Partial<ChatView> = {}, all = false): { shown: Snapshot; toLinks: () => void; toActs: () => void } => ({
  shown: {
    ...snapshot, powers: [power('files', 'allowed'), power('shell', 'allowed'), power('computer_use', 'off'), power('clipboard', 'ask_each_time')], models: { ...snapshot.models, private_all: all },
    chats: [{ ...chat, ...more, privacy: { on: false, own: null, open_elsewhere: [], asked: [], ...privacy } }],
  },
  toLinks: () => {}, toActs: () => {},
});
const open = () => fireEvent.click(button(/^Privacy/));

it('makes one chat private at once, and lets its contents go again only after asking', async () => {
  const page = render(Chats, chats({}));
  await open();
  await fireEvent.click(button('Private'));
  expect(sent).toEqual([{ command: 'set_privacy', session_id: 'one', on: true }]);

  await page.rerender(chats({ on: true, own: true }));
  await fireEvent.click(button('Not private'));
  expect([sent.length, document.activeElement]).toEqual([1, button('Keep them here')]);
  await fireEvent.click(button('Let contents go out'));
  expect(sent.at(-1)).toEqual({ command: 'set_privacy', session_id: 'one', on: false });
});

it('asks before following the rest out of privacy, and not before following into it', async () => {
  const page = render(Chats, chats({ on: true, own: true }));
  await open();
  await fireEvent.click(button('As everywhere: not private'));
  expect(sent).toEqual([]);
  await fireEvent.click(button('Let contents go out'));
  expect(sent).toEqual([{ command: 'set_privacy', session_id: 'one', on: null }]);

  await page.rerender(chats({ on: false, own: false }, {}, true));
  await fireEvent.click(button('As everywhere: private'));
  expect(sent.at(-1)).toEqual({ command: 'set_privacy', session_id: 'one', on: null });
});

it('says which files were asked about and how often', async () => {
  render(Chats, chats({ on: true, asked: [{ path: `${chat.folder}/pay/salaries.csv`, stubs: 2, turns: 1, last_ms: 0 }] }));
  expect(button('Privacy 1 file was asked about')).toBeTruthy();
  await open();
  const rows = within(screen.getByRole('list', { name: 'Files that were asked about' })).getAllByRole('listitem');
  expect(rows.map((one) => one.textContent?.replace(/\s+/g, ' '))).toEqual([expect.stringContaining('pay/salaries.csv 1 question · described 2 times')]);
});

it('tells the latest acts of a chat in the words of its language, also how much they were about', () => {
  chooseLanguage('de', 'en');
  const act = { number: 1, at_ms: 0, session_id: 'one', operation: 'LOCAL_LLM_TURN', subject: 'small:1b: 1 file', ok: true, error_code: null, duration_ms: 0, why: null, seq: 1 };
  const all = chats({ on: true });
  render(Chats, { ...all, shown: { ...all.shown, activity: [act] } });
  chooseLanguage('en', 'en');
  expect(screen.getByRole('list', { name: 'Zuletzt in diesem Chat' }).textContent).toContain('Ein lokales Modell zu privaten Dateien gefragt small:1b: 1 Datei');
});

it('warns of what can still show contents in a private chat, and switches it off there alone', async () => {
  const page = render(Chats, chats({ on: true, own: true }));
  expect(screen.getByText('Commands and Clipboard can still show contents of files in this private chat.')).toBeTruthy();
  button(/^Switch off in this chat/).focus();
  await fireEvent.click(button(/^Switch off in this chat/));
  await vi.waitFor(() =>
    expect(sent).toEqual([
      { command: 'set_chat_power', session_id: 'one', power: 'shell', mode: 'off' },
      { command: 'set_chat_power', session_id: 'one', power: 'clipboard', mode: 'off' },
    ]),
  );
  await page.rerender(chats({ on: true, own: true }, { modes: [{ power: 'shell', mode: 'off' }, { power: 'clipboard', mode: 'off' }] }));
  expect(screen.queryByText(/can still show contents/)).toBeNull();
  await vi.waitFor(() => expect(document.activeElement).toBe(button(/^What changed/)));
  await page.rerender(chats({ on: false }));
  expect(screen.queryByText(/can still show contents/)).toBeNull();
});

it('names another chat with the same files that is not private, and makes it private with one press', async () => {
  const page = render(Chats, chats({ on: true, own: true, open_elsewhere: ['two'] }));
  expect(screen.getByText(/Another chat has the same files and is not private: two\./)).toBeTruthy();
  await fireEvent.click(button('Make private, too: two'));
  await vi.waitFor(() => expect(sent).toEqual([{ command: 'set_privacy', session_id: 'two', on: true }]));
  await page.rerender(chats({ on: false, open_elsewhere: ['two'] }));
  expect(screen.queryByText(/has the same files/)).toBeNull();
});
