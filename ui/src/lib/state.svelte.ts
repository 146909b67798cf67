/** What the page knows: the newest snapshot, and the last thing that went wrong. */
import type { Command, CommandError, Reply, Snapshot } from '../generated/types';
import * as bridge from './bridge';

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
  const first = await bridge.snapshot();
  if (!pushed) view.snapshot = first;
  view.tray = (await bridge.desktop()).tray;
  return stop;
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
