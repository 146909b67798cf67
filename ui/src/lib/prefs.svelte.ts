/** How the window looks and what it remembers. Follows the shell, so that all windows change together. */
import type { Prefs } from '../generated/types';
import * as bridge from './bridge';
import { FIRST_RUN_STEPS } from './first-run';
import { chooseLanguage } from './text';



/** Sizes that the keys step through, in percent. */
const ZOOMS = [50, 67, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300];

/** What holds where the shell does not tell: everything works, and nobody is led through first steps twice. */
const plain: Prefs = {
  theme: 'system', language: 'system', zoom: 100, first_run: FIRST_RUN_STEPS, hot_key: true, notifications: true, size: null, plain_drawing: false, practice: false, update_channel: 'stable', check_updates: true,
};

export const look = $state<{ prefs: Prefs; desktop: bridge.Desktop; ready: boolean }>({
  prefs: plain,
  desktop: { tray: true, hot_key: null, language: 'en' },
  ready: false,
});

function take(prefs: Prefs): void {
  look.prefs = { ...plain, ...prefs };
  apply();
}

function apply(): void {
  const root = document.documentElement;
  root.lang = chooseLanguage(look.prefs.language, look.desktop.language);
  if (look.prefs.theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = look.prefs.theme;
}

/** Follows what the window remembers. A shell that does not answer costs the looks alone. */
export async function followPrefs(): Promise<() => void> {
  let stop = () => {};
  try {
    stop = await bridge.onPrefs(take);
    const [prefs, desktop] = await Promise.all([bridge.prefs(), bridge.desktop()]);
    look.desktop = { ...look.desktop, ...desktop };
    take(prefs);
  } catch {
    apply();
  }
  look.ready = true;
  return stop;
}

/** Remembers a change. What is shown changes at once, and back when it could not be kept. */
export async function change(part: Partial<Prefs>): Promise<void> {
  const before = $state.snapshot(look.prefs);
  take({ ...before, ...part });
  try {
    await bridge.setPrefs($state.snapshot(look.prefs));
  } catch (thrown) {
    take(before);
    throw thrown;
  }
}

/** The next size in a direction: 1 larger, -1 smaller, 0 the usual one. */
export function zoomed(now: number, direction: number): number {
  if (direction === 0) return 100;
  const next = direction > 0 ? ZOOMS.find((one) => one > now) : ZOOMS.filter((one) => one < now).at(-1);
  return next ?? now;
}

/** Tells which way a key changes the size, or nothing when it is not for that. */
export function zoomKey(event: KeyboardEvent): number | undefined {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return undefined;
  return ({ '+': 1, '=': 1, '-': -1, _: -1, '0': 0 } as Record<string, number>)[event.key];
}
