import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AccountRow, AccountView, Snapshot } from '../generated/types';
import { view } from '../lib/state.svelte';
import { chooseLanguage } from '../lib/text';
import { snapshot } from '../../dev/snapshot';
import Account from './Account.svelte';
import Accounts from './Accounts.svelte';

const row = (id: string, more: Partial<AccountRow> = {}): AccountRow => ({
  id, name: id, platform_url: `https://${id}.example`, client_id: 'autogpt-local-executor', active: false, signed_in: false, fixed: false, ...more,
});
const accounts = [row('default', { active: true, signed_in: true, fixed: true }), row('work', { name: 'Work', client_id: 'desk-7', signed_in: true }), row('home', { name: 'Home' })];
const with_ = (account: Partial<AccountView>, more: Partial<Snapshot> = {}): Snapshot => ({
  ...snapshot, accounts, account: { state: 'signed_in', id: 'default', platform_url: 'https://default.example', authorize_url: null, problem: null, ...account }, ...more,
});

let sent: unknown[] = [];
let called: [string, unknown][] = [];
let answer: (command: { command: string }) => unknown;

beforeEach(() => {
  sent = [];
  called = [];
  answer = () => ({ reply: 'done' });
  view.error = null;
  mockIPC((name, payload) => {
    called.push([name, payload]);
    if (name !== 'send') return null;
    const { command } = payload as { command: { command: string } };
    sent.push(command);
    return answer(command);
  });
});
afterEach(() => {
  clearMocks();
  vi.unstubAllGlobals();
  chooseLanguage('en', 'en');
});
const button = (name: string | RegExp) => screen.getByRole('button', { name });
const type = (label: string, value: string) => fireEvent.input(screen.getByLabelText(label), { target: { value } });

it('shows each account with its platform, its client id where it is another one, and whether it is signed in', () => {
  render(Accounts, { shown: with_({}) });
  const [used, work, home] = screen.getAllByRole('listitem');

  expect(used?.textContent).toMatch(/Default account\s*In use\s*Signed in/);
  expect(work?.textContent).toContain('https://work.example');
  expect(work?.textContent).toContain('desk-7');
  expect(home?.textContent).toContain('Signed out');
  expect(home?.textContent).not.toContain('autogpt-local-executor');
  expect(within(used as HTMLElement).queryByRole('button')).toBeNull();
});

it('uses another account by a second step, which starts the program again', async () => {
  render(Accounts, { shown: with_({}) });
  await fireEvent.click(button('Use: Work'));
  expect(called).toEqual([]);
  expect(screen.getByRole('alertdialog').textContent).toContain('starts again with the account “Work”');

  await fireEvent.click(button('Use and start again'));

  expect(called).toEqual([['use_account', { id: 'work' }]]);
});

it('says before removing that the platform still honours a sign-in', async () => {
  render(Accounts, { shown: with_({}) });
  await fireEvent.click(button('Remove: Home'));
  expect(screen.getByRole('alertdialog').textContent).not.toContain('still honours');
  await fireEvent.click(button('Remove: Work'));
  expect(screen.getByRole('alertdialog').textContent).toContain('still honours the sign-in');
  expect(document.activeElement).toBe(button('Keep it'));

  await fireEvent.click(button('Remove'));

  expect(sent).toEqual([{ command: 'remove_account', id: 'work' }]);
});

it('adds an account by name, address and, for a platform of one’s own, client id', async () => {
  render(Accounts, { shown: with_({}) });
  await fireEvent.click(button('Add an account…'));
  expect(document.activeElement).toBe(screen.getByLabelText('Your name for it'));
  expect((button('Add') as HTMLButtonElement).disabled).toBe(true);
  await type('Your name for it', ' Lab ');
  await type('Address of the platform', 'wss://lab.example ');
  await type('Client id', 'lab-desk');

  await fireEvent.click(button('Add'));

  expect(sent).toEqual([{ command: 'add_account', name: 'Lab', platform_url: 'wss://lab.example', client_id: 'lab-desk' }]);
  await vi.waitFor(() => expect(screen.queryByRole('form')).toBeNull());
  await vi.waitFor(() => expect(document.activeElement).toBe(button('Add an account…')));
});

it('puts what is wrong beside its field and the focus there, and keeps what was typed', async () => {
  render(Accounts, { shown: with_({}) });
  await fireEvent.click(button('Add an account…'));
  await type('Your name for it', 'Work');
  await type('Address of the platform', 'http://lab.example');
  for (const [code, label, words] of [
    ['account_platform_plain', 'Address of the platform', 'not encrypted'],
    ['account_name_taken', 'Your name for it', 'already'],
    ['account_client', 'Client id', 'without blanks'],
  ] as const) {
    answer = () => { throw { code, message: 'in the engine’s words' }; };
    await fireEvent.click(button('Add'));
    const input = screen.getByLabelText(label);
    await vi.waitFor(() => expect(document.activeElement).toBe(input));
    expect(input.getAttribute('aria-invalid')).toBe('true');
    expect(document.getElementById(input.getAttribute('aria-describedby') ?? '')?.textContent).toContain(words);
  }
  expect((screen.getByLabelText('Address of the platform') as HTMLInputElement).value).toBe('http://lab.example');

  await fireEvent.keyDown(screen.getByLabelText('Your name for it'), { key: 'Escape' });
  expect(screen.queryByLabelText('Your name for it')).toBeNull();
});

it('says why no other account can be used in this run', () => {
  render(Accounts, { shown: with_({}, { accounts_fixed: 'run' }) });

  expect((button('Use: Work') as HTMLButtonElement).disabled).toBe(true);
  expect(screen.getByText(/flag or the environment names the platform/)).toBeTruthy();
});

it.each([
  ['expired', 'Your sign-in has run out', 'long time without use'],
  ['refused', 'The platform refused this sign-in', 'taken back at the platform'],
] as const)('says in the state %s what happened and what comes next, once', async (state, tag, next) => {
  const code = state === 'expired' ? 'sign_in_expired' : 'sign_in_refused';
  render(Account, { shown: with_({ state, problem: 'in the engine’s words', problem_code: code }) });

  expect(screen.getByText(new RegExp(tag))).toBeTruthy();
  expect(screen.getByText(new RegExp(next))).toBeTruthy();
  expect(screen.queryByRole('alert')).toBeNull();
  await fireEvent.click(button('Sign in again'));
  expect(sent).toEqual([{ command: 'sign_in' }]);
});

it('forgets on this computer apart from signing out, and says what that leaves', async () => {
  render(Account, { shown: with_({}) });
  await fireEvent.click(button('Forget on this computer…'));
  expect(screen.getByRole('alertdialog').textContent).toContain('still honours it until it ends');
  expect(document.activeElement).toBe(button('Keep it'));

  await fireEvent.click(button('Forget on this computer'));

  expect(sent).toEqual([{ command: 'forget_tokens' }]);
});

it('offers to forget a sign-in for another platform, and nothing to forget when there is none', () => {
  const kept = { problem: 'in the engine’s words', problem_code: 'other_platform', kept_for: 'https://other.example' };
  const { unmount } = render(Account, { shown: with_({ state: 'signed_out', ...kept }) });
  expect(screen.getByRole('alert').textContent).toContain('is for https://other.example, so it is not used');
  expect(button('Forget on this computer…')).toBeTruthy();
  unmount();

  render(Account, { shown: with_({ state: 'signed_out' }, { accounts: [row('default', { active: true, fixed: true })] }) });
  expect(screen.queryByRole('button', { name: /Forget/ })).toBeNull();
});

it('copies the link by the page, else by the program, else marks it', async () => {
  const url = 'https://default.example/auth/authorize?state=s';
  const shown = with_({ state: 'signing_in', authorize_url: url });
  const write = vi.fn().mockResolvedValue(undefined);
  vi.stubGlobal('navigator', { ...navigator, clipboard: { writeText: write } });
  const { unmount } = render(Account, { shown });
  await fireEvent.click(button('Copy link'));
  await vi.waitFor(() => expect(button('Copied')).toBeTruthy());
  expect([write.mock.calls, called]).toEqual([[[url]], []]);
  unmount();

  write.mockRejectedValue(new Error('not allowed'));
  const again = render(Account, { shown });
  await fireEvent.click(button('Copy link'));
  await vi.waitFor(() => expect(button('Copied')).toBeTruthy());
  expect(called).toEqual([['copy', { what: 'authorize_url' }]]);
  again.unmount();

  mockIPC(() => { throw { code: 'unknown_thing', message: 'no' }; });
  render(Account, { shown });
  await fireEvent.click(button('Copy link'));
  await vi.waitFor(() => expect(document.activeElement).toBe(document.getElementById('authorize-url')));
  expect(button('Copy link')).toBeTruthy();
});

it('shows as a sentence what it has no words for', () => {
  render(Account, { shown: with_({ problem: 'the platform cannot be reached: connecting failed', problem_code: 'platform_unreachable' }) });

  expect(screen.getByRole('alert').textContent).toBe('The platform cannot be reached: connecting failed.');
});

it('tells what went wrong in the person’s language', () => {
  chooseLanguage('de', 'en');
  const { unmount } = render(Account, { shown: with_({ state: 'refused', problem: 'x', problem_code: 'sign_in_cut_off' }) });
  expect(screen.getByRole('alert').textContent).toContain('bevor es die neue speichern konnte');
  unmount();

  render(Account, { shown: with_({ state: 'signed_out', problem: 'x', problem_code: 'cancelled' }) });
  expect(screen.getByRole('status').textContent).toBe('Die Anmeldung wurde abgebrochen. Es wurde nichts gespeichert.');
});
