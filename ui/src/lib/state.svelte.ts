/** What the page knows: the newest snapshot, and the last thing that went wrong. */
import type { Command, CommandError, Reply, Snapshot } from '../generated/types';
import * as bridge from './bridge';
import { followPrefs, look } from './prefs.svelte';
import { named } from './text';

export const view = $state<{ snapshot: Snapshot | null; tray: boolean; error: CommandError | null }>({
  snapshot: null,
  tray: true,
  error: null,
});

/** Follows the engine. Listens before asking, so that no change falls between the two. */
export async function follow(): Promise<() => void> {
  let pushed = false;
  const stop = await bridge.onSnapshot((value) => {
    pushed = true;
    view.snapshot = value;
  });
  const [first, stopPrefs] = await Promise.all([bridge.snapshot(), followPrefs()]);
  if (!pushed) view.snapshot = first;
  view.tray = look.desktop.tray;
  return () => {
    stop();
    stopPrefs();
  };
}

/** Runs a call and shows what went wrong. Returns nothing when it failed. */
export async function attempt<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    const value = await call();
    view.error = null;
    return value;
  } catch (thrown) {
    view.error = bridge.asError(thrown);
    return undefined;
  }
}

export const send = (command: Command): Promise<Reply | undefined> => attempt(() => bridge.send(command));

/** What went wrong in the person's language; in the engine's words where there are none for the code. */
export const errorWords = (error: CommandError): string => named(`error.${error.code}`, error.message);
