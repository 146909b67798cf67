import { fireEvent, render, screen } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PromptView } from '../generated/types';
import Prompt from './Prompt.svelte';

const prompt: PromptView = {
  id: 7,
  power: 'shell',
  platform: 'http://127.0.0.1:8470',
  session_id: 'chat-1',
  operation: 'EXECUTE_COMMAND',
  summary: 'Run the command “ls”?',
  details: [{ label: 'argument', value: '<b>-l</b>' }],
  can_allow_chat: true,
  revision: 0,
  argv: [],
  diff: null,
  folder: null,
  can_choose_folder: false,
  always: null,
  waiting: 1,
  expires_at_ms: Date.now() + 60_000,
};
let sent: unknown[] = [];

beforeEach(() => {
  sent = [];
  mockIPC((name, payload) => {
    if (name === 'send') sent.push((payload as { command: unknown }).command);
    return { reply: 'done' };
  });
});
afterEach(clearMocks);

it('puts the focus on Deny, and Escape denies', async () => {
  render(Prompt, { prompt, waiting: 0 });
  expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Deny' }));

  await fireEvent.keyDown(window, { key: 'Escape' });

  await vi.waitFor(() => expect(sent).toContainEqual({ command: 'answer_prompt', id: 7, revision: 0, answer: 'deny' }));
});

it('answers once, however often it is pressed', async () => {
  render(Prompt, { prompt, waiting: 0 });
  const once = screen.getByRole<HTMLButtonElement>('button', { name: 'Allow once' });
  expect(once.disabled).toBe(true);
  await vi.waitFor(() => expect(once.disabled).toBe(false));

  await fireEvent.click(once);
  await fireEvent.click(once);

  const answers = sent.filter((command) => (command as { command: string }).command === 'answer_prompt');
  expect(answers).toEqual([{ command: 'answer_prompt', id: 7, revision: 0, answer: 'allow_once' }]);
});

it('says that it was painted only after a frame was', async () => {
  const frames: FrameRequestCallback[] = [];
  vi.stubGlobal('requestAnimationFrame', (frame: FrameRequestCallback) => frames.push(frame));
  render(Prompt, { prompt, waiting: 0 });

  expect(frames.length).toBe(1);
  expect(sent).toEqual([]);
  frames[0]?.(0);
  expect(sent).toEqual([]);
  frames[1]?.(16);
  vi.unstubAllGlobals();

  await vi.waitFor(() => expect(sent).toEqual([{ command: 'prompt_painted', id: 7, revision: 0 }]));
});

it('offers no lasting answer where none may be given, and shows markup as text', () => {
  render(Prompt, { prompt: { ...prompt, can_allow_chat: false }, waiting: 2 });

  expect(screen.queryByRole('button', { name: 'Allow for this chat' })).toBeNull();
  expect(screen.getByText('<b>-l</b>')).toBeTruthy();
});
