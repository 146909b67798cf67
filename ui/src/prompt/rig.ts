/** What the tests of the questions share: an engine that is acted, frames and the end of the text under their control. */
import { emit } from '@tauri-apps/api/event';
import { clearMocks, mockIPC, mockWindows } from '@tauri-apps/api/mocks';
import { cleanup, render } from '@testing-library/svelte';
import { tick } from 'svelte';
import { vi } from 'vitest';
import type { Command, PromptView, Snapshot } from '../generated/types';
import { view } from '../lib/state.svelte';
import PromptWindow from './PromptWindow.svelte';

export const command: PromptView = {
  id: 7,
  power: 'shell',
  platform: 'wss://platform.example',
  session_id: 'chat-1',
  operation: 'EXECUTE_COMMAND',
  summary: 'The agent wants to run a command on this computer',
  revision: 0,
  details: [
    { label: 'program', value: '/usr/bin/ls' },
    { label: 'working_folder', value: '/home/ada/Quarterly report' },
    { label: 'environment_variable', value: 'LANG' },
    { label: 'walls', value: 'confined_none' },
  ],
  argv: ['ls', '-l', 'a b', '', '<b>bold</b>'],
  diff: null,
  folder: null,
  can_choose_folder: false,
  cut: false,
  can_allow_chat: true,
  always: ['ls', '-l', 'a b'],
  waiting: 1,
  unseen: false,
  expires_at_ms: Date.now() + 60_000,
};

export interface Rig {
  sent: Command[];
  /** Other calls of the shell, by name. */
  called: { name: string; payload: unknown }[];
  /** Makes commands of this kind fail. */
  fail: (kind: Command['command'], code: string) => void;
  show: (prompts: PromptView[]) => Promise<void>;
  /** Lets two frames pass. */
  frames: () => Promise<void>;
  /** Shows that the end of the text is in sight. */
  end: () => Promise<void>;
  /** Shows the end for one frame: what came into sight above it was higher than guessed. */
  glimpse: () => Promise<void>;
  /** Lets the time of the guard pass. */
  guard: () => Promise<void>;
  answers: () => Command[];
}

export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  await tick();
};

/** Closes the window and gives everything back. */
export async function close(): Promise<void> {
  cleanup();
  await settle();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  clearMocks();
  view.snapshot = null;
  view.error = null;
}

/** Opens the window on some questions. Timers stand still; `close` cleans up. */
export async function open(prompts: PromptView[]): Promise<Rig> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  const frames = new Map<number, FrameRequestCallback>();
  let lastFrame = 0;
  vi.stubGlobal('requestAnimationFrame', (call: FrameRequestCallback) => {
    lastFrame += 1;
    frames.set(lastFrame, call);
    return lastFrame;
  });
  vi.stubGlobal('cancelAnimationFrame', (id: number) => frames.delete(id));
  const step = () => {
    const due = [...frames.values()];
    frames.clear();
    due.forEach((call) => call(0));
  };
  const watched = new Set<(inSight: boolean) => void>();
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      #call: (inSight: boolean) => void;
      constructor(call: (entries: { isIntersecting: boolean }[]) => void) {
        this.#call = (inSight) => call([{ isIntersecting: inSight }]);
      }
      observe() {
        watched.add(this.#call);
      }
      disconnect() {
        watched.delete(this.#call);
      }
    },
  );

  const sent: Command[] = [];
  const called: Rig['called'] = [];
  const failing = new Map<string, string>();
  const snapshot = (shown: PromptView[]) => ({ prompts: shown, chats: [], offered_folder: null }) as unknown as Snapshot;
  mockWindows('prompt');
  mockIPC(
    (name, payload) => {
      if (name === 'snapshot') return snapshot(prompts);
      if (name !== 'send') {
        called.push({ name, payload });
        return name === 'choose_folder' ? true : {};
      }
      const { command: one } = payload as { command: Command };
      sent.push(one);
      const code = failing.get(one.command);
      if (code) throw { code, message: `engine: ${code}` };
      return { reply: 'done' };
    },
    { shouldMockEvents: true },
  );
  render(PromptWindow);
  await settle();
  return {
    sent,
    called,
    fail: (kind, code) => failing.set(kind, code),
    show: async (shown) => {
      await emit('snapshot', snapshot(shown));
      await settle();
    },
    frames: async () => {
      step();
      step();
      await settle();
    },
    end: async () => {
      [...watched].forEach((call) => call(true));
      for (let round = 0; round < 3; round += 1) step();
      await settle();
    },
    glimpse: async () => {
      [...watched].forEach((call) => call(true));
      step();
      [...watched].forEach((call) => call(false));
      for (let round = 0; round < 3; round += 1) step();
      await settle();
    },
    guard: async () => {
      await vi.advanceTimersByTimeAsync(500);
      await settle();
    },
    answers: () => sent.filter((one) => one.command === 'answer_prompt'),
  };
}
