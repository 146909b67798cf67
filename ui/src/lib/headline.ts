/** The one line that says what agents can do right now. */
import type { LinkView, Snapshot } from '../generated/types';
import { isolated, parts } from './paths';
import { usable } from './powers';
import { named, plural, t, type Key } from './text';

export interface Headline {
  title: string;
  more: string;
  tone: 'open' | 'idle' | 'stopped';
  /** Something runs at this moment. */
  busy: boolean;
}

/** The platform without its scheme, as a person says it. */
export const host = (address: string): string => address.replace(/^\w+:\/\//, '').replace(/\/$/, '');

/** Tells whether the platform is the practice one on this very computer. */
export const isPractice = (address: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host(address));

/** Why there is no connection, in the person’s language. */
export const linkWhy = ({ reason, code }: LinkView): string => (reason ? named(`link.why.${code}`, reason, { said: reason }) : '');

/** A measured time as a person would say it. */
export const duration = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

const still = (title: Key, more: string, tone: Headline['tone']): Headline => ({ title: t(title), more, tone, busy: false });

export function headline(shown: Snapshot): Headline {
  const platform = host(shown.account.platform_url);
  if (shown.raised) {
    const raise = shown.last_raise;
    return still('bridge.raised', raise ? t('bridge.raised.fast', { time: duration(raise.ended_ms) }) : t('bridge.raised.more'), 'stopped');
  }
  if (shown.trouble || shown.audit.unavailable) return still('bridge.broken', t('bridge.broken.more'), 'stopped');
  const { state } = shown.account;
  if (state !== 'signed_in') return still('bridge.signed_out', state === 'signed_out' ? t('bridge.signed_out.more') : t(`account.${state}`), 'idle');
  const used = shown.screen.in_use;
  if (used) {
    const counts = t('pill.done', { pictures: plural('pill.pictures', used.pictures), acts: plural('pill.acts', used.acts) });
    return { title: t('bridge.screen'), more: used.person_active ? t('bridge.screen.waits') : t('bridge.screen.more', { counts }), tone: 'open', busy: true };
  }
  const open = shown.chats.filter((chat) => chat.active && !chat.revoked);
  if (open.length === 0) {
    if (shown.link.state !== 'connected') return still('bridge.offline', t('bridge.offline.more', { link: t(`link.${shown.link.state}`), platform }), 'idle');
    const back = shown.chats.filter((chat) => !chat.revoked).length;
    if (back > 0) return still('chats.asleep', plural('chats.asleep.more', back), 'idle');
    return still('bridge.waiting', t('bridge.waiting.more', { platform }), 'idle');
  }
  const working = open.filter((chat) => chat.in_flight > 0);
  const busy = working.length > 0;
  const these = busy ? working : open;
  const title = plural(busy ? 'bridge.busy' : 'bridge.ready', these.length, { folder: isolated(parts(these[0]?.folder ?? '').name) });
  return { title, more: powersInWords(shown), tone: 'open', busy };
}

/** The first letter alone: German nouns inside keep theirs. */
const lowered = (text: string): string => text.charAt(0).toLocaleLowerCase() + text.slice(1);

/** "Files: allowed · Commands: ask each time". */
function powersInWords(shown: Snapshot): string {
  const powers = usable(shown).map((power) => `${named(`power.${power.power}`, power.power)}: ${lowered(named(`mode.${power.mode}`, power.mode))}`);
  return powers.length === 0 ? t('bridge.no_powers') : powers.join(' · ');
}
