/** The one line that says what agents can do right now. */
import type { Snapshot } from '../generated/types';
import { plural, t, type Key } from './text';

export interface Headline {
  title: string;
  more: string;
  tone: 'open' | 'idle' | 'stopped';
}

/** The platform without its scheme, as a person says it. */
export const host = (address: string): string => address.replace(/^\w+:\/\//, '').replace(/\/$/, '');

/** Tells whether the platform is the practice one on this very computer. */
export const isPractice = (address: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host(address));

export function headline(shown: Snapshot): Headline {
  const platform = host(shown.account.platform_url);
  if (shown.raised) return { title: t('bridge.raised'), more: t('bridge.raised.more'), tone: 'stopped' };
  if (shown.trouble || shown.audit.unavailable) return { title: t('bridge.broken'), more: t('bridge.broken.more'), tone: 'stopped' };
  if (shown.account.state !== 'signed_in') {
    return { title: t('bridge.signed_out'), more: t(shown.account.state === 'signed_out' ? 'bridge.signed_out.more' : (`account.${shown.account.state}` as Key)), tone: 'idle' };
  }
  const working = shown.chats.filter((chat) => chat.active && !chat.revoked).length;
  if (shown.link.state !== 'connected' && working === 0) {
    return { title: t('bridge.offline'), more: t('bridge.offline.more', { link: t(`link.${shown.link.state}` as Key), platform }), tone: 'idle' };
  }
  if (working === 0) return { title: t('bridge.waiting'), more: t('bridge.waiting.more', { platform }), tone: 'idle' };
  return { title: plural('bridge.working', working), more: t('bridge.working.more', { platform }), tone: 'open' };
}
