import { fireEvent, render, screen } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GateView, Snapshot } from '../generated/types';
import { view } from '../lib/state.svelte';
import Gate from './Gate.svelte';
import Secrets from './Secrets.svelte';

const gate: GateView = { kind: 'passphrase_wanted', message: 'The file wants its passphrase.', path: '/state/secrets.enc', can_make_file: false, can_set_aside: true, can_ask_keychain: false, problem: null, problem_code: null, busy: false };
const secrets = (place: string, movable_to: string | null) => ({ secrets: { place, movable_to } }) as unknown as Snapshot;

let sent: { command: string }[] = [];
let refusal: { code: string; message: string } | null = null;

beforeEach(() => {
  sent = [];
  refusal = null;
  view.error = null;
  mockIPC((name, payload) => {
    if (name !== 'send') return null;
    sent.push((payload as { command: { command: string } }).command);
    if (refusal) throw refusal;
    return { reply: 'done' };
  });
});
afterEach(clearMocks);
const button = (name: string | RegExp) => screen.getByRole('button', { name });
const field = (name: string) => screen.getByLabelText(name) as HTMLInputElement;
const type = (name: string, value: string) => fireEvent.input(field(name), { target: { value } });

it('forgets a passphrase as soon as it was sent, and says when it was wrong', async () => {
  refusal = { code: 'wrong_passphrase', message: 'in English' };
  render(Gate, { gate });
  expect(button('Unlock')).toHaveProperty('disabled', true);
  expect(field('Passphrase').type).toBe('password');

  await type('Passphrase', 'not this one');
  await fireEvent.click(button('Unlock'));

  expect(sent).toEqual([{ command: 'gate_unlock', passphrase: 'not this one' }]);
  expect(field('Passphrase').value).toBe('');
  expect((await screen.findByText(/does not open the file/)).closest('[role=status]')).not.toBeNull();
});

it('sets nothing aside without a second yes, and Escape is no', async () => {
  render(Gate, { gate: { ...gate, kind: 'broken_file', message: 'The list cannot be read.' } });
  await fireEvent.click(button('Set it aside and begin anew…'));
  expect(document.activeElement).toBe(button('Leave it'));
  await fireEvent.keyDown(button('Leave it'), { key: 'Escape' });
  expect(sent).toEqual([]);

  await fireEvent.click(button('Set it aside and begin anew…'));
  await fireEvent.click(button('Set it aside'));
  expect(sent).toEqual([{ command: 'gate_set_aside' }]);
});

it('offers only what helps now', () => {
  const { unmount } = render(Gate, { gate: { ...gate, kind: 'keychain_locked', can_set_aside: false, can_ask_keychain: true } });
  expect(button('Unlock the keychain…')).toBeTruthy();
  expect(screen.queryByLabelText('Passphrase')).toBeNull();
  expect(screen.queryByRole('button', { name: /aside|Choose a passphrase/ })).toBeNull();
  unmount();

  render(Gate, { gate: { ...gate, busy: true } });
  expect(button('Unlock')).toHaveProperty('disabled', true);
  expect(screen.getByText('Trying…')).toBeTruthy();
  expect(button('Raise the bridge')).toHaveProperty('disabled', false);
  expect(button('Quit')).toHaveProperty('disabled', false);
});

it('takes a new passphrase only when it is long enough and typed the same twice', async () => {
  render(Gate, { gate: { ...gate, kind: 'no_keychain', can_set_aside: false, can_make_file: true } });
  await fireEvent.click(button('Choose a passphrase…'));
  const make = () => button('Make the file and start');
  await type('New passphrase', 'seven77');
  await type('Repeat the passphrase', 'seven77');
  expect(make()).toHaveProperty('disabled', true);
  await type('New passphrase', 'correct horse');
  expect(screen.getByText('These are not the same.')).toBeTruthy();
  expect(make()).toHaveProperty('disabled', true);

  await type('Repeat the passphrase', 'correct horse');
  await fireEvent.click(make());

  expect(sent).toEqual([{ command: 'gate_new_file', passphrase: 'correct horse' }]);
  await vi.waitFor(() => expect(field('New passphrase').value).toBe(''));
});

it('moves secrets only after saying what follows, and shows why it did not work', async () => {
  const { rerender } = render(Secrets, { shown: secrets('keychain', 'file') });
  await fireEvent.click(button('Move to an encrypted file…'));
  expect(screen.getByText(/asks for this passphrase at each start/)).toBeTruthy();
  await type('New passphrase', 'correct horse');
  await type('Repeat the passphrase', 'correct horse');
  refusal = { code: 'not_moved', message: 'Nothing was moved: the disk is full.' };
  await fireEvent.click(button('Move to the file'));
  expect(await screen.findByText('Nothing was moved: the disk is full.')).toBeTruthy();

  refusal = null;
  await fireEvent.click(button('Cancel'));
  await rerender({ shown: secrets('file', 'keychain') });
  await fireEvent.click(button('Move to the keychain…'));
  await fireEvent.click(button('Move to the keychain'));
  expect(sent.at(-1)).toEqual({ command: 'move_secrets', to: 'keychain', passphrase: null });
  await rerender({ shown: secrets('file', null) });
  expect(screen.queryByRole('button', { name: /Move/ })).toBeNull();
});
