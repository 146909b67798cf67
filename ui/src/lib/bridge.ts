/** The one file that calls the backend. Everything else imports these typed functions. */
import { invoke } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';
import type { Command, CommandError, Finding, Prefs, Reply, Snapshot } from '../generated/types';

/** What the desktop around the page offers. */
export interface Desktop {
  tray: boolean;
  /** The keys that raise from anywhere; null where the system has no such thing or they are taken. */
  hot_key: string | null;
  /** The language of the desktop, as a tag: "de", "en". */
  language: string;
  /** The person's home folder, safe to show; absent where nobody knows. Only for writing paths shorter. */
  home?: string | null;
}

/** How starting at login stands. */
export interface LoginStart {
  on: boolean;
  /** False where this system cannot do it. */
  available: boolean;
  /** The file or entry concerned, safe to show. */
  place: string;
  /** What is odd about it, in words. */
  problem: string | null;
  /** The page has words for each; `problem` is in English. */
  state?: 'off' | 'on' | 'elsewhere' | 'gone' | 'disabled' | 'foreign' | 'practice' | 'no_program' | 'odd_path' | 'unknown';
  /** The program that the entry starts in place of this one, safe to show. */
  program?: string | null;
}

/** How updates stand. */
export interface UpdateView {
  installed_as: 'appimage' | 'deb' | 'rpm' | 'dmg' | 'nsis' | 'msi' | 'other';
  /** Drawbridge replaces itself, a page has it, or the organisation does it. */
  way: 'own' | 'link' | 'managed';
  state: 'idle' | 'checking' | 'current' | 'found' | 'downloading' | 'ready' | 'failed';
  version: string | null;
  /** What is new, as plain text, safe to show. */
  notes: string | null;
  percent: number | null;
  problem: string | null;
  /** Its stable name, for words in the person's language. */
  problem_code: string | null;
  /** The channel in use: an organisation may have fixed another one than the person chose. */
  channel: string;
  /** This build knows where to look, and the page of its releases. */
  can_check: boolean;
  has_page: boolean;
}

/** What the pill says while an agent uses the screen. */
export interface PillView {
  /** The folder of the chat that does so, safe to show; null when the chat has none. */
  folder: string | null;
  pictures: number;
  acts: number;
  /** The person uses mouse or keyboard, so the agent waits. */
  person_active: boolean;
  /** It was stopped: the bridge is up. */
  stopped: boolean;
  /** The bridge could not be raised from here. */
  failed: boolean;
}

export const snapshot = (): Promise<Snapshot> => invoke('snapshot');
export const desktop = (): Promise<Desktop> => invoke('desktop');
export const send = (command: Command): Promise<Reply> => invoke('send', { command });
export const openAuthorizePage = (): Promise<void> => invoke('open_authorize_page');
export const openPlatform = (): Promise<void> => invoke('open_platform');

export const prefs = (): Promise<Prefs> => invoke('prefs');
export const setPrefs = (prefs: Prefs): Promise<void> => invoke('set_prefs', { prefs });
/** Tells that this page has really been drawn. Not told in time, the window is taken for blank and restarted. */
export const painted = (): Promise<void> => invoke('painted');
/** Opens the system's folder dialog; each resolves to false when the person cancels it. */
export const chooseFolder = (id: number): Promise<boolean> => invoke('choose_folder', { id });
export const offerFolder = (): Promise<boolean> => invoke('offer_folder');
export const addBrowseRoot = (): Promise<boolean> => invoke('add_browse_root');
/** Opens the system's save dialog and writes the archive; null when the person cancels it. */
export const exportAudit = (): Promise<Reply | null> => invoke('export_audit');
/** Shows the attached folder of a chat in the file manager. */
export const openFolder = (sessionId: string): Promise<void> => invoke('open_folder', { sessionId });
/** Restarts Drawbridge on the practice platform inside the program, or back on the real one. */
export const setPractice = (on: boolean): Promise<void> => invoke('set_practice', { on });

/** Chooses another account and restarts Drawbridge with it. */
export const useAccount = (id: string): Promise<void> => invoke('use_account', { id });

/** Runs every check of the check-up; takes seconds at worst. */
export const doctor = (): Promise<Finding[]> => invoke('doctor');
/** Does what a finding offers. */
export const doctorFix = (action: string): Promise<void> => invoke('doctor_fix', { action });

export const loginStart = (): Promise<LoginStart> => invoke('login_start');
export const setLoginStart = (on: boolean): Promise<LoginStart> => invoke('set_login_start', { on });

export const updates = (): Promise<UpdateView> => invoke('updates');
export const checkUpdates = (): Promise<UpdateView> => invoke('check_updates');
/** Takes the newer version, then restarts. */
export const installUpdate = (): Promise<void> => invoke('install_update');
export const openRelease = (): Promise<void> => invoke('open_release');

/** Puts a thing on the clipboard; the page names its kind, never a text. */
export const copy = (what: 'diagnostics' | 'authorize_url'): Promise<void> => invoke('copy', { what });
export const diagnostics = (): Promise<string> => invoke('diagnostics');
export const openLogs = (): Promise<void> => invoke('open_logs');

export const pill = (): Promise<PillView | null> => invoke('pill');
/** Opens the main window, or brings it to the front. */
export const showMain = (): Promise<void> => invoke('show_main');
export const onPill = (handler: (value: PillView) => void): Promise<() => void> =>
  listen<PillView>('pill', (event) => handler(event.payload));

export const onPrefs = (handler: (value: Prefs) => void): Promise<() => void> =>
  listen<Prefs>('prefs', (event) => handler(event.payload));

export const onSnapshot = (handler: (value: Snapshot) => void): Promise<() => void> =>
  listen<Snapshot>('snapshot', (event) => handler(event.payload));

/** Makes whatever a call threw into code and message. */
export function asError(thrown: unknown): CommandError {
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    return { code: String(thrown.code), message: String(thrown.message) };
  }
  return { code: 'unknown', message: String(thrown) };
}
