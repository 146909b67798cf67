import { afterEach, expect, it } from 'vitest';
import type { ChatView, PowerView, Prefs, Snapshot } from '../generated/types';
import { firstRunDone, stepAt, turned } from './first-run';
import { headline, linkWhy } from './headline';
import { navKey, PAGES } from './nav';
import { notices } from './notices';
import { homeShort, isolated, parts, within } from './paths';
import { differing, modeFor } from './powers';
import { zoomed, zoomKey } from './prefs.svelte';
import { chooseLanguage } from './text';
import { changesInWords, takenBack } from './undo';
import { ago } from './when.svelte';

const prefs: Prefs = { theme: 'system', language: 'en', zoom: 100, first_run: 4, hot_key: true, notifications: true, size: null, plain_drawing: false, practice: false, update_channel: 'stable', check_updates: true };
const files: PowerView = { power: 'files', mode: 'allowed', locked_by: null, built: true, running: 0 };
const shell: PowerView = { power: 'shell', mode: 'ask_each_time', locked_by: null, built: true, running: 0 };
const chat: ChatView = {
  session_id: 'one', folder: '/home/ada/Quarterly report', revision: 1, active: true, link: 'connected', in_flight: 0, requests: 3, revoked: false,
  last_used_ms: 0, attached: true, attached_ms: 0, last_operation: null, changes: { created: 0, written: 0, moved: 0, deleted: 0 }, powers_used: [], modes: [], privacy: { on: false, own: null, open_elsewhere: [], asked: [] },
};
const calm: Snapshot = {
  version: '0.1.0', raised: false, trouble: null, notices: [],
  account: { state: 'signed_in', id: 'default', platform_url: 'https://platform.test', authorize_url: null, problem: null },
  link: { state: 'connected', reason: null }, chats: [chat], powers: [files, shell], shell: { mode: 'confined', network: 'none', confinement_missing: null },
  prompts: [], activity: [], audit: { path: '/state/audit.log', bytes: 0, records: 0, unavailable: false }, tray: 'shown', rules: [],
  offered_folder: null, browse_roots: [], last_raise: null, window_wanted: 0, gate: null, accounts: [], secrets: { place: 'keychain', movable_to: null }, managed: null,
  screen: { seat: 'x11', features: [], missing: [], only_apps: null, never_apps: [], full_resolution: false, clipboard_foreign: false, in_use: null },
  models: { servers: [], uses: [], private_all: false, review: false, preview_bytes: 0 }, devices: { devices: [], looked: false },
};
const told = (more: Partial<Snapshot>) => {
  const head = headline({ ...calm, ...more });
  return [head.title, head.tone, head.busy];
};

afterEach(() => chooseLanguage('en', 'en'));

it('says in one line whether an agent can act', () => {
  expect(told({})).toEqual(['An agent can work in Quarterly report', 'open', false]);
  expect(told({ chats: [chat, { ...chat, session_id: 'two' }] })).toEqual(['Agents can work in 2 folders', 'open', false]);
  expect(told({ chats: [chat, { ...chat, session_id: 'two', folder: '/x/garden', in_flight: 2 }] })).toEqual(['An agent is working in garden', 'open', true]);
  const in_use = { session_id: 'one', since_ms: 0, pictures: 1, acts: 2, person_active: false };
  const uses = { ...calm, screen: { ...calm.screen, in_use } };
  expect(told(uses)).toEqual(['An agent sees and uses your screen', 'open', true]);
  expect(headline(uses).more).toContain('1 picture, 2 acts');
  expect(told({ ...uses, raised: true })[0]).toBe('Nothing can act');
  expect(told({ chats: [{ ...chat, revoked: true }] })).toEqual(['No agent has a folder', 'idle', false]);
  expect(told({ chats: [], link: { state: 'waiting', reason: 'x' } })).toEqual(['Nothing can act right now', 'idle', false]);
  expect(told({ account: { ...calm.account, state: 'signed_out' } })).toEqual(['Nothing can act', 'idle', false]);
  expect(told({ trouble: { code: 'settings_broken', message: 'x' } })).toEqual(['Nothing can act', 'stopped', false]);
  expect(told({ raised: true, chats: [{ ...chat, in_flight: 1 }] })).toEqual(['Nothing can act', 'stopped', false]);
});

it('names the powers that an agent has, and says when it has none', () => {
  expect(headline(calm).more).toBe('Files: allowed · Commands: ask each time');
  expect(headline({ ...calm, powers: [{ ...files, mode: 'off' }, { ...shell, locked_by: 'config.toml' }] }).more).toBe('Every power is off, so it can do nothing there.');
});

it('tells how fast everything stopped', () => {
  const raised = (ended_ms: number) => headline({ ...calm, raised: true, last_raise: { at_ms: 0, stored_ms: 2, ended_ms } }).more;
  expect(raised(84)).toContain('Everything stopped in 84 ms.');
  expect(raised(1240)).toContain('in 1.2 s.');
  expect(headline({ ...calm, raised: true }).more).not.toContain('stopped in');
});

it('shows what presses first, each with what can be done about it', () => {
  expect(notices(calm, prefs)).toEqual([]);
  const lines = notices(
    { ...calm, trouble: { code: 'settings_broken', message: 'x' }, tray: 'none', link: { state: 'halted', reason: 'refused' }, notices: [{ code: 'odd', message: 'As the engine says.' }] },
    { ...prefs, practice: true },
  );
  expect(lines.map((line) => [line.id, line.act])).toEqual([['trouble', 'afresh'], ['link', 'connect'], ['notice-odd', null], ['tray', null]]);
  expect(lines[2]?.text).toBe('As the engine says.');
  const practice = { ...calm, account: { ...calm.account, platform_url: 'http://127.0.0.1:4180' } };
  expect(notices(practice, { ...prefs, practice: true }).map((line) => line.act)).toEqual(['leave_practice']);
});

it('says why there is no link in the person’s language, and in the engine’s words where it knows none', () => {
  const link = { state: 'waiting' as const, reason: 'The platform cannot be reached: no route.', code: 'unreachable' };
  expect(linkWhy(link)).toBe('The platform cannot be reached: no route.');
  chooseLanguage('de', 'de');
  expect(linkWhy(link)).toBe('Die Plattform ist nicht zu erreichen.');
  expect(notices({ ...calm, link }, prefs)[0]?.text).toBe('Die Plattform ist nicht zu erreichen.');
  expect(linkWhy({ ...link, code: 'unheard_of' })).toBe(link.reason);
  expect(linkWhy({ state: 'off', reason: null })).toBe('');
  chooseLanguage('en', 'en');
});

it('keeps quiet about a link that is cut on purpose', () => {
  expect(notices({ ...calm, raised: true, link: { state: 'off', reason: 'the bridge is raised' } }, prefs)).toEqual([]);
});

it('shortens the home folder only where it really is', () => {
  expect(homeShort('/home/ada/garden', '/home/ada')).toBe('~/garden');
  expect(homeShort('/home/ada', '/home/ada')).toBe('~');
  expect(homeShort('/home/adalbert/garden', '/home/ada')).toBe('/home/adalbert/garden');
  expect(homeShort('C:\\Users\\ada\\x', 'C:\\Users\\ada')).toBe('~\\x');
  expect(homeShort('/home/ada/garden', undefined)).toBe('/home/ada/garden');
  expect(homeShort('/srv', '/')).toBe('/srv');
});

it('splits a path before its name on every system', () => {
  expect(parts('/home/ada/garden/')).toEqual({ before: '/home/ada/', name: 'garden' });
  expect(parts('C:\\Users\\a/b')).toEqual({ before: 'C:\\Users\\', name: 'a/b' });
  expect(parts('/home/back\\slash')).toEqual({ before: '/home/', name: 'back\\slash' });
  expect(parts('/')).toEqual({ before: '', name: '/' });
  expect(parts('')).toEqual({ before: '', name: '' });
});

it('keeps a right-to-left name from turning the sentence around it', () => {
  expect([isolated('garden'), isolated('תמונות')]).toEqual(['garden', '\u2068תמונות\u2069']);
});

it('leaves out the folder only for what lies in it', () => {
  expect(within('/a/b/c.txt', '/a/b')).toBe('c.txt');
  expect(within('/a/bc.txt', '/a/b')).toBe('/a/bc.txt');
  expect(within('/x', '/')).toBe('x');
  expect(within('/x', null)).toBe('/x');
});

it('lets off win over what a chat says', () => {
  const own = { ...chat, modes: [{ power: 'shell', mode: 'allowed' }] };
  expect(modeFor(shell, own)).toBe('allowed');
  expect(modeFor(shell, chat)).toBe('ask_each_time');
  expect(modeFor({ ...shell, mode: 'off' }, own)).toBe('off');
  expect(modeFor({ ...shell, locked_by: 'config.toml' }, own)).toBe('off');
  expect(differing({ ...calm, chats: [own, chat] }, shell)).toEqual([own]);
  expect(differing({ ...calm, chats: [own] }, { ...shell, mode: 'allowed' })).toEqual([]);
  expect(differing({ ...calm, chats: [own] }, { ...shell, mode: 'off' })).toEqual([]);
});

it('says what was taken back and never hides what was not', () => {
  const failed = [{ label: '/a', value: 'another file is there now' }];
  expect(takenBack({ reply: 'restored', count: 3, failed: [] })).toEqual({ text: '3 changes taken back.', failed: [] });
  expect(takenBack({ reply: 'restored', count: 1, failed })).toEqual({ text: '1 change taken back. 1 change could not be taken back:', failed });
  expect(takenBack({ reply: 'restored', count: 0, failed })).toEqual({ text: '1 change could not be taken back:', failed });
  expect(takenBack({ reply: 'restored', count: 0, failed: [] }).text).toBe('There was nothing to take back.');
});

it('counts changes in words and leaves out what there is not', () => {
  expect(changesInWords({ created: 2, written: 0, moved: 0, deleted: 1 })).toBe('2 new, 1 deleted');
  chooseLanguage('de', 'en');
  expect(changesInWords({ created: 0, written: 1, moved: 3, deleted: 0 })).toBe('1 geändert, 3 verschoben');
});

it('goes through the first steps and takes up where it was left', () => {
  expect([0, 1, 2, 3].map((step) => turned(step, 1))).toEqual([1, 2, 3, 4]);
  expect(turned(0, -1)).toBe(0);
  expect([stepAt(2), stepAt(99), stepAt(-1), stepAt(Number.NaN)]).toEqual([2, 3, 0, 0]);
  expect([firstRunDone(3), firstRunDone(4)]).toEqual([false, true]);
});

it('moves through the pages by key and round at the ends', () => {
  const last = PAGES.length - 1;
  expect([navKey('ArrowDown', last, PAGES.length), navKey('ArrowUp', 0, PAGES.length), navKey('End', 1, PAGES.length), navKey('Home', 3, PAGES.length)]).toEqual([0, last, last, 0]);
  expect(navKey('x', 0, PAGES.length)).toBeUndefined();
});

it('changes the size in steps and stays within them', () => {
  expect([zoomed(100, 1), zoomed(110, -1), zoomed(105, 1), zoomed(300, 1), zoomed(50, -1), zoomed(250, 0)]).toEqual([110, 100, 110, 300, 50, 100]);
  const key = (key: string, more = {}) => zoomKey(new KeyboardEvent('keydown', { key, ctrlKey: true, ...more }));
  expect([key('+'), key('='), key('-'), key('0'), key('a'), key('+', { altKey: true }), key('+', { ctrlKey: false })]).toEqual([1, 1, -1, 0, undefined, undefined, undefined]);
});

it('says times as a person would', () => {
  const at = Date.UTC(2026, 0, 10, 12);
  expect([0, 5 * 60_000, 26 * 3_600_000].map((age) => ago(at - age, at))).toEqual(['now', '5 minutes ago', 'yesterday']);
  expect(ago(at + 60_000, at)).toBe('now');
  expect(ago(at - 30 * 86_400_000, at)).toContain('2025');
});
