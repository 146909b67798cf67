/** What a person should know before anything else, most pressing first. */
import type { Prefs, Snapshot } from '../generated/types';
import { isPractice, linkWhy } from './headline';
import { named, plural, t } from './text';

export interface NoticeLine {
  id: string;
  tone: 'calm' | 'warn' | 'bad';
  text: string;
  /** What can be done about it here. */
  act: 'afresh' | 'connect' | 'leave_practice' | null;
}

export function notices(shown: Snapshot, prefs: Prefs): NoticeLine[] {
  const lines: NoticeLine[] = [];
  const waiting = shown.prompts.length;
  if (waiting > 0) lines.push({ id: 'prompts', tone: 'warn', text: plural('notice.prompts', waiting), act: null });
  if (shown.trouble) {
    const { code, message } = shown.trouble;
    lines.push({ id: 'trouble', tone: 'bad', text: named(`trouble.${code}`, message), act: code === 'settings_broken' ? 'afresh' : null });
  }
  if (shown.audit.unavailable) lines.push({ id: 'audit', tone: 'bad', text: t('audit.broken'), act: null });
  if (shown.link.reason && !shown.raised && shown.link.state !== 'connected') {
    lines.push({ id: 'link', tone: 'warn', text: linkWhy(shown.link), act: shown.account.state === 'signed_in' ? 'connect' : null });
  }
  for (const { code, message } of shown.notices) lines.push({ id: `notice-${code}`, tone: 'warn', text: named(`trouble.${code}`, message), act: null });
  if (shown.tray === 'none') lines.push({ id: 'tray', tone: 'calm', text: t('tray.none'), act: null });
  if (prefs.practice && isPractice(shown.account.platform_url)) lines.push({ id: 'practice', tone: 'calm', text: t('notice.practice'), act: 'leave_practice' });
  return lines;
}
