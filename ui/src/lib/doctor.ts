/** The check-up: what belongs together, what comes first, and how a finding is said. No page and no call. */
import type { Finding } from '../generated/types';
import { keyNames } from './format';
import { homeShort } from './paths';
import { look } from './prefs.svelte';
import { told } from './said';
import { inWords } from './seat';
import { named } from './text';

/** Checks by area, in the order in which a person asks for them. What is in no area comes last. */
const AREAS = {
  install: ['engine', 'installation', 'config', 'managed', 'state_folder', 'disk_space', 'settings', 'start_at_login', 'audit_log'],
  account: ['accounts', 'secrets', 'sign_in', 'sign_in_ports', 'browser'],
  network: ['link', 'platform', 'network', 'clock'],
  powers: ['browse_roots', 'bubblewrap', 'name_spaces', 'landlock', 'confinement', 'shells', 'elevation', 'permissions', 'computer_use', 'clipboard', 'local_model', 'local_model_server', 'hardware'],
  desktop: ['display', 'tray', 'notifications', 'hot_key'],
} as const;

export type Area = keyof typeof AREAS | 'other';
export interface Group {
  area: Area;
  findings: Finding[];
}

const BAD = { fail: 2, warn: 1, info: 0, ok: 0 } as const;

/** What the person has to see to, the worst first. */
export const wrong = (findings: Finding[]): Finding[] =>
  findings.filter((one) => BAD[one.state] > 0).sort((a, b) => BAD[b.state] - BAD[a.state]);

/** All else, area by area; an area without any is left out. */
export function fine(findings: Finding[]): Group[] {
  const left = findings.filter((one) => BAD[one.state] === 0);
  const of = (checks: readonly string[]) => checks.flatMap((check) => left.filter((one) => one.check === check));
  const groups: Group[] = Object.entries(AREAS).map(([area, checks]) => ({ area: area as Area, findings: of(checks) }));
  const known = new Set<string>(Object.values(AREAS).flat());
  groups.push({ area: 'other', findings: left.filter((one) => !known.has(one.check)) });
  return groups.filter((group) => group.findings.length > 0);
}

const places = (one: Finding): Record<string, string> => {
  const given: Record<string, string> = { fix: one.fix ?? '' };
  for (const [name, value] of Object.entries(one.params)) if (value !== undefined) given[name] = name === 'keys' ? keyNames(value) : homeShort(value, look.desktop.home);
  if (given.features) given.features = inWords(given.features.split(', ')) || given.features;
  // Devices that say no name of their own have one of ours.
  for (const name of ['names', 'device']) if (given[name]) given[name] = given[name].split(', ').map((item) => told(item).text).join(', ');
  if (given.said) given.said = told(given.said).text;
  // Why there is no link has words of its own, by their code.
  if (given.why) given.why = one.check === 'link' ? named(`link.why.${given.code}`, given.why, { said: given.why }) : told(given.why).text;
  return given;
};
/** What was looked at, what was found, what to do: in the person's language, or as the engine said it. */
export const label = (one: Finding): string => {
  const step = /^network_(\w+)_(?:ok|wrong)$/.exec(one.key)?.[1];
  return named(`doctor.step.${step}`, named(`doctor.check.${one.check}`, one.check));
};
export const said = (one: Finding): string => named(`doctor.said.${one.key}`, one.text, places(one));
export const fix = (one: Finding): string | null => (one.fix === null ? null : named(`doctor.fix.${one.key}`, one.fix, places(one)));

/** What needs an engine that runs. */
export const NEEDS_ENGINE = ['sign_in', 'lower', 'connect', 'set_aside_settings'];
