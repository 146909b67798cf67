/** The one file that calls the backend. Everything else imports these typed functions. */
import { invoke } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';
import type { Command, CommandError, Reply, Snapshot } from '../generated/types';

export interface Desktop {
  tray: boolean;
}

export const snapshot = (): Promise<Snapshot> => invoke('snapshot');
export const desktop = (): Promise<Desktop> => invoke('desktop');
export const send = (command: Command): Promise<Reply> => invoke('send', { command });
export const openAuthorizePage = (): Promise<void> => invoke('open_authorize_page');
export const openPlatform = (): Promise<void> => invoke('open_platform');

export const onSnapshot = (handler: (value: Snapshot) => void): Promise<() => void> =>
  listen<Snapshot>('snapshot', (event) => handler(event.payload));

/** Makes whatever a call threw into code and message. */
export function asError(thrown: unknown): CommandError {
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    return { code: String(thrown.code), message: String(thrown.message) };
  }
  return { code: 'unknown', message: String(thrown) };
}
