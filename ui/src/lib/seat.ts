/** What agents can see and use on this computer, in words for a person. Shows what the engine found out; decides nothing. */
import type { MissingView, ScreenView } from '../generated/types';
import { t } from './text';

/** What a person calls it. Several features of the protocol are one of these. */
const GROUPS = ['see', 'see_window', 'mouse', 'keyboard', 'windows', 'apps', 'copy'] as const;
export type Group = (typeof GROUPS)[number];

const OF: Record<string, readonly Group[]> = {
  screenshot: ['see'],
  'screenshot.capture': ['see'],
  'screenshot.region': ['see'],
  'screenshot.window': ['see_window'],
  input: ['mouse', 'keyboard'],
  'input.click': ['mouse'],
  'input.click.modifiers': ['mouse'],
  'input.click.button': ['mouse'],
  'input.drag.path': ['mouse'],
  'input.mouse.down_up': ['mouse'],
  'input.scroll.amount': ['mouse'],
  'input.key.hold': ['keyboard'],
  windows: ['windows'],
  'window.list': ['windows'],
  'window.focus': ['windows'],
  apps: ['apps'],
  'app.list': ['apps'],
  'app.launch': ['apps'],
  clipboard: ['copy'],
  'clipboard.read': ['copy'],
  'clipboard.write': ['copy'],
  // Nothing that a person would miss.
  'cursor.position': [],
  'display.info': [],
  'input.wait': [],
  permissions: [],
  'permissions.check': [],
};

/** Belongs to the power for the clipboard. */
export const COPY: readonly Group[] = ['copy'];
/** Belongs to the power for the screen. */
export const SCREEN: readonly Group[] = GROUPS.filter((group) => group !== 'copy');

const groups = (feature: string): readonly Group[] => (Object.hasOwn(OF, feature) ? (OF[feature] ?? []) : []);

/** Features of the protocol in words, each thing once; a feature without words stays as it is named. */
export function inWords(features: readonly string[]): string {
  const words = features.flatMap((name) => (Object.hasOwn(OF, name) ? groups(name).map((group) => t(`seat.group.${group}`)) : [name]));
  return [...new Set(words)].join('; ');
}

/** What does not work here. Several features that miss for the same reason are told once. */
export function lacks(screen: ScreenView, among: readonly Group[]): { group: Group; why: string }[] {
  const found = new Map<string, { group: Group; why: string }>();
  for (const { feature, why } of screen.missing satisfies MissingView[]) {
    for (const group of groups(feature)) if (among.includes(group)) found.set(`${group} ${why}`, { group, why });
  }
  return [...found.values()].sort((one, other) => GROUPS.indexOf(one.group) - GROUPS.indexOf(other.group));
}

/** What works here. A thing of which a part is missing stands on both lists. */
export const works = (screen: ScreenView, among: readonly Group[]): Group[] =>
  among.filter((group) => screen.features.some((feature) => groups(feature).includes(group)));

/** Adds the name of an app; nothing changes when it is there already, in whatever case. */
export function withApp(apps: readonly string[], typed: string): string[] {
  const name = typed.trim();
  const known = apps.some((one) => one.toLowerCase() === name.toLowerCase());
  return name === '' || known ? [...apps] : [...apps, name];
}
