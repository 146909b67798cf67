import { fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { en } from '../lib/text/en';
import { close, command, open, settle, type Rig } from './rig';

afterEach(close);

const button = (name: RegExp) => screen.getByRole<HTMLButtonElement>('button', { name });
const once = () => button(/^Allow once/);
const deny = () => button(/^Deny( Esc)?$/);
const press = (target: Element, detail = 1) => {
  fireEvent.pointerDown(target);
  return fireEvent.click(target, { detail });
};
const ready = async (rig: Rig) => {
  await rig.frames();
  await rig.end();
  await rig.guard();
};
const next = { ...command, id: 8, argv: ['rm', '-rf', 'old'] };

it('tells that a question was painted after two frames, once for each of its revisions', async () => {
  const rig = await open([command]);
  expect(rig.sent).toEqual([]);

  await rig.frames();
  await rig.show([{ ...command }]);
  await rig.frames();
  expect(rig.sent).toEqual([{ command: 'prompt_painted', id: 7, revision: 0 }]);

  await rig.show([{ ...command, revision: 1 }]);
  expect(rig.sent).toHaveLength(1);
  await rig.frames();
  expect(rig.sent.slice(1)).toEqual([{ command: 'prompt_painted', id: 7, revision: 1 }]);
});

it('does not count what nobody can see', async () => {
  const seen = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  const rig = await open([command]);
  await rig.frames();
  expect(rig.sent).toEqual([]);

  seen.mockReturnValue('visible');
  document.dispatchEvent(new Event('visibilitychange'));
  await rig.frames();

  expect(rig.sent).toEqual([{ command: 'prompt_painted', id: 7, revision: 0 }]);
});

it('says again that it was painted when that did not arrive, and shows why', async () => {
  const rig = await open([command]);
  rig.fail('prompt_painted', 'engine_gone');
  await rig.frames();
  expect(screen.getByRole('alert').textContent).toContain(en['error.engine_gone']);

  await vi.advanceTimersByTimeAsync(1_000);
  await rig.frames();

  expect(rig.sent).toHaveLength(2);
  expect(once().disabled).toBe(true);
});

it('has the focus on Deny, and Escape denies with the revision that was shown', async () => {
  const rig = await open([{ ...command, revision: 3 }]);
  expect(document.activeElement).toBe(deny());

  await fireEvent.keyDown(window, { key: 'Escape' });
  await settle();

  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 3, answer: 'deny' }]);
});

it('does not let a key that is held down or the second half of a double click answer the next question', async () => {
  const rig = await open([command, next]);
  await press(deny());
  await rig.show([next]);

  await fireEvent.keyDown(window, { key: 'Escape', repeat: true });
  await press(deny(), 2);

  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 0, answer: 'deny' }]);
});

it('allows only what was painted, seen to its end and there for a moment', async () => {
  const rig = await open([command]);
  const off = () => [once().disabled, button(/^Allow for this chat/).disabled, button(/^Always/).disabled];

  expect(off()).toEqual([true, true, true]);
  await rig.frames();
  expect(off()).toEqual([true, true, true]);
  await rig.guard();
  expect(off()).toEqual([true, true, true]);
  expect(screen.getByText(/Scroll to the end/)).toBeTruthy();
  await rig.end();

  expect(off()).toEqual([false, false, false]);
  expect(screen.queryByText(/Scroll to the end/)).toBeNull();
});

it('keeps every Allow off for a moment after it was painted and read, also in the second step', async () => {
  const rig = await open([command]);
  await rig.frames();
  await rig.end();
  expect(once().disabled).toBe(true);
  await rig.guard();
  expect(once().disabled).toBe(false);

  await press(button(/^Always/));
  await settle();
  await rig.end();
  expect(button(/^Always allow/).disabled).toBe(true);
  await rig.guard();
  expect(button(/^Always allow/).disabled).toBe(false);
});

it('keeps every Allow off as long as nobody can see it', async () => {
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  const rig = await open([command]);
  await ready(rig);
  await rig.guard();

  expect(once().disabled).toBe(true);
});

it('does not take an end that slips away again for one that was seen', async () => {
  const rig = await open([command]);
  await rig.frames();
  await rig.guard();

  await rig.glimpse();
  expect(once().disabled).toBe(true);
  await rig.end();
  expect(once().disabled).toBe(false);
});

it('answers once, however often it is pressed', async () => {
  const rig = await open([command]);
  await ready(rig);

  const allow = once();
  await press(allow);
  await press(allow);
  await fireEvent.keyDown(window, { key: 'Escape' });
  await settle();

  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 0, answer: 'allow_once' }]);
});

it('takes no click for an Allow that began before it could be meant', async () => {
  const rig = await open([command]);
  fireEvent.pointerDown(once());
  await ready(rig);

  await fireEvent.click(once(), { detail: 1 });
  expect(rig.answers()).toEqual([]);

  await press(once());
  expect(rig.answers()).toHaveLength(1);
});

it('never allows what cannot be shown whole, and says why', async () => {
  const rig = await open([{ ...command, cut: true }]);
  await ready(rig);

  expect(once().disabled).toBe(true);
  expect(screen.getByText(/too long to be shown whole/)).toBeTruthy();
  await press(deny());
  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 0, answer: 'deny' }]);
});

it('begins anew with another revision: nothing read, nothing allowed, the focus on Deny', async () => {
  const rig = await open([command]);
  await ready(rig);
  once().focus();

  await rig.show([{ ...command, revision: 1, argv: ['ls', '-la'] }]);

  expect(once().disabled).toBe(true);
  expect(document.activeElement).toBe(deny());
  await ready(rig);
  await press(once());
  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 1, answer: 'allow_once' }]);
});

it('shows the next question with the focus on Deny', async () => {
  const rig = await open([command, next]);
  expect(screen.getByText('1 more waits')).toBeTruthy();
  await ready(rig);
  once().focus();
  await press(once());

  await rig.show([next]);

  expect(screen.getByText('rm')).toBeTruthy();
  expect(screen.queryByText(/more wait/)).toBeNull();
  expect(document.activeElement).toBe(deny());
  expect(once().disabled).toBe(true);
});

it('denies all that wait', async () => {
  const rig = await open([command, next, { ...next, id: 9 }]);

  await fireEvent.click(button(/^Deny all 3/));

  expect(rig.sent).toContainEqual({ command: 'deny_prompts' });
});

it('asks a second time for always, shows the very words and has the focus on Back', async () => {
  const rig = await open([command]);
  await ready(rig);
  await press(button(/^Always/));
  await settle();

  const yes = () => button(/^Always allow/);
  expect([...screen.getByRole('list', { name: /always be allowed/ }).children].map((one) => one.textContent)).toEqual(['ls', '-l', 'a b']);
  expect(document.activeElement).toBe(button(/^Back/));
  expect(yes().disabled).toBe(true);
  expect(rig.answers()).toEqual([]);

  await rig.end();
  await rig.guard();
  await fireEvent.keyDown(window, { key: '1', code: 'Digit1', altKey: true });
  await settle();
  expect(rig.answers()).toEqual([{ command: 'answer_prompt', id: 7, revision: 0, answer: 'allow_always' }]);
});

it('goes back from the second step with Escape and allows nothing', async () => {
  const rig = await open([command]);
  await ready(rig);
  await press(button(/^Always/));
  await settle();

  await fireEvent.keyDown(window, { key: 'Escape' });
  await settle();

  expect(document.activeElement).toBe(deny());
  expect(once().disabled).toBe(true);
  expect(rig.answers()).toEqual([]);
});

it('offers only the answers that may be given', async () => {
  await open([{ ...command, can_allow_chat: false, always: null }]);

  expect(screen.getAllByRole('button').map((one) => one.textContent.trim())).toEqual(['Allow once Alt 1', 'Deny Esc']);
});

it('moves between the answers by arrow keys and goes around with Tab', async () => {
  const rig = await open([command]);
  await ready(rig);

  await fireEvent.keyDown(window, { key: 'ArrowRight' });
  expect(document.activeElement).toBe(once());
  await fireEvent.keyDown(window, { key: 'ArrowLeft' });
  expect(document.activeElement).toBe(deny());
  await fireEvent.keyDown(window, { key: 'Tab' });
  expect(document.activeElement).toBe(screen.getByRole('region', { name: 'Exactly what is asked for' }));
  await fireEvent.keyDown(window, { key: 'Tab', shiftKey: true });
  expect(document.activeElement).toBe(deny());
});

it('does nothing for single letters: somebody may be typing when it comes', async () => {
  const rig = await open([command]);
  await ready(rig);

  for (const key of ['a', 'y', '1', 'o']) await fireEvent.keyDown(window, { key, code: `Key${key.toUpperCase()}` });

  expect(rig.answers()).toEqual([]);
});

it('says in words why an answer did not count, and lets it be given again', async () => {
  const rig = await open([command]);
  await ready(rig);
  rig.fail('answer_prompt', 'not_painted');

  await press(once());
  await settle();
  expect(screen.getByRole('alert').textContent).toContain(en['error.not_painted']);

  await press(once());
  expect(rig.answers()).toHaveLength(2);
});

it('still says that an answer came too late when the next question is there', async () => {
  const rig = await open([command, next]);
  await ready(rig);
  rig.fail('answer_prompt', 'unknown_prompt');
  await press(once());
  await settle();

  await rig.show([next]);

  expect(screen.getByRole('alert').textContent).toContain(en['error.unknown_prompt']);
});

it('cannot be allowed when its time is over', async () => {
  const rig = await open([command]);
  await ready(rig);

  vi.setSystemTime(command.expires_at_ms + 1);
  await rig.guard();

  expect(once().disabled).toBe(true);
  expect(screen.getAllByText('The time is over: it is denied')).toHaveLength(2);
});

it('lets another folder be chosen in the native dialog', async () => {
  const rig = await open([{ ...command, operation: 'ATTACH_SESSION', argv: [], details: [{ label: 'folder', value: '/home/ada/Plans' }], folder: '/home/ada/Plans', can_choose_folder: true }]);
  expect(screen.getByRole('heading').textContent).toBe('Let a chat work in “Plans”?');

  await fireEvent.click(button(/^Choose another folder/));

  expect(rig.called).toContainEqual({ name: 'choose_folder', payload: { id: 7 } });
});

it('shows the words of a command one by one, markup as text and an empty word as such', async () => {
  await open([command]);

  const words = [...screen.getByRole('list', { name: 'The command, word by word' }).children].map((one) => one.textContent);
  expect(words).toEqual(['ls', '-l', 'a b', 'empty word', '<b>bold</b>']);
});

it('says that nothing waits', async () => {
  const rig = await open([]);
  await rig.frames();

  expect(screen.getByRole('heading').textContent).toBe('No question waits');
  expect(rig.called.map(({ name }) => name)).toContain('painted');
});
