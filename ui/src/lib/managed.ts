/** What an organisation has fixed, in the person's words. Shows what the engine decides; decides nothing. */
import type { PowerView, ShellView } from '../generated/types';
import { MODES, NETWORKS } from './powers';
import { named, t } from './text';

/** The engine's own words for an organisation that gave no name. */
const UNNAMED = 'your organisation';

/** Who fixed it, for the middle of a sentence. */
export const whoFixed = (by: string | null | undefined): string => (by && by !== UNNAMED ? by : t('managed.unnamed'));

/** A mode is looser than the power may have. */
export const modeClosed = (power: PowerView, mode: string): boolean =>
  power.ceiling !== undefined && MODES.findIndex((one) => one === mode) > MODES.findIndex((one) => one === power.ceiling?.mode);

/** A network is wider than commands may reach. */
export const networkClosed = (shell: ShellView, network: string): boolean =>
  shell.ceiling?.network != null && NETWORKS.findIndex((one) => one === network) > NETWORKS.findIndex((one) => one === shell.ceiling?.network);

/** What is fixed, each thing once: a power by its own name, limits and folders of settings together. */
export function fixedThings(locked: readonly string[]): string[] {
  const things = locked.map((key) => {
    const [table, name] = key.split('.');
    if (table === 'powers' && name) return named(`power.${name}`, name);
    return named(`managed.key.${key}`, named(`managed.key.${table}`, key));
  });
  return [...new Set(things)];
}
