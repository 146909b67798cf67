/** One act in words. */
import type { ActivityRow } from '../generated/types';
import { language, named, plural, t } from '../lib/text';
import { why } from './why';

/** Codes of a refusal by the person or their settings. Only then does the reason of the decision say why it was not done. */
const BY_POLICY = ['CAPABILITY_NOT_GRANTED', 'CONSENT_REQUIRED', 'PRIVACY_MODE_BLOCKED'];

/** What was done, or was to be done. The name in the audit log where there are no words. */
export const words = (act: ActivityRow): string =>
  act.operation === 'STOP_ALL' && act.subject === 'lowered' ? t('act.lowered') : named(`${act.ok ? 'act' : 'tried'}.${act.operation}`, named(`act.${act.operation}`, act.operation));

/** Names of ours in the subject of an act that the person did: those have words. What came from outside has none. */
const OURS = ['CONSENT_ASKED', 'CONSENT_ANSWERED', 'POLICY_CHANGED'];
/** The name says it all. */
const NONE = ['STOP_ALL'];

/** Operations in programs. What stops them while they run is the world around them, and no rule. */
const IN_PROGRAMS = ['SCREENSHOT_REQUEST', 'INPUT_ACTION', 'WINDOW_FOCUS', 'APP_LAUNCH', 'CLIPBOARD_READ', 'CLIPBOARD_WRITE'];
/** Done on the screen or in the clipboard. */
export const onScreen = (act: ActivityRow): boolean =>
  IN_PROGRAMS.includes(act.operation) || ['CURSOR_POSITION_REQUEST', 'DISPLAY_INFO_REQUEST', 'WINDOW_LIST_REQUEST', 'APP_LIST_REQUEST', 'PERMISSIONS_CHECK_REQUEST'].includes(act.operation);
/** Its details have names for people. */
export const hasWords = (act: ActivityRow): boolean => onScreen(act) || act.operation === 'FILE_READ_STUB' || /^(LOCAL_LLM|HARDWARE)_/.test(act.operation);
/** A rule allowed it, and still it was refused. */
const refusedLater = (act: ActivityRow): boolean => IN_PROGRAMS.includes(act.operation) && act.why?.decision === 'allow' && BY_POLICY.includes(act.error_code ?? '');

/** What was done on the screen: the words of the record, in the person's language. Names from outside stay as they are. */
function inPrograms({ operation, subject }: ActivityRow): string {
  const counted = /^(\d{1,9}) (windows|apps|displays)$/.exec(subject);
  const size = (text: string) => text.replace(/(\d{1,12}) bytes/, (_, count: string) => plural('prompt.bytes', Number(count)));
  switch (operation) {
    case 'INPUT_ACTION':
      return size(subject.replace(/^((?:\w+\+)*)(\w+)/, (_, held: string, action: string) => held + named(`input.${action}`, action)));
    case 'CLIPBOARD_READ':
    case 'CLIPBOARD_WRITE':
      return size(subject.replace(/^text, /, ''));
    case 'SCREENSHOT_REQUEST': {
      if (subject === 'all displays') return t('prompt.value.area.all');
      const display = /^display (\d{1,3})$/.exec(subject)?.[1];
      if (display === '0') return t('prompt.value.area.0');
      return display ? t('prompt.area.display', { number: Number(display) + 1 }) : subject.replace(/^region /, `${t('about.part')} `);
    }
    default:
      return counted ? plural(`about.${counted[2] as 'windows' | 'apps' | 'displays'}`, Number(counted[1])) : subject;
  }
}

/** How much went to a model or a device. What it is called comes from outside and stays as it is. */
function ofModelsAndDevices({ operation, subject }: ActivityRow): string {
  const [, name, count, more] = /^(.*): (?:(\d{1,12}) (?:bytes|files?)|((?:line|request|endpoint) [\w ]+))$/s.exec(subject) ?? [];
  if (name === undefined || operation === 'FILE_READ_STUB') return subject;
  const much = count === undefined ? (more ?? '').replace(/^\w+/, (word) => named(`about.${word}`, word)) : plural(operation === 'LOCAL_LLM_TURN' ? 'about.files' : 'prompt.bytes', Number(count));
  return `${name}: ${much}`;
}

/** What it was about, with names of ours in words. */
export const about = (act: ActivityRow): string =>
  NONE.includes(act.operation)
    ? ''
    : OURS.includes(act.operation)
    ? act.subject
        .split(/([:,] )/)
        .map((part) => (/^[:,] $/.test(part) ? part : named(`about.${part}`, named(`tried.${part}`, named(`power.${part}`, named(`mode.${part}`, part))))))
        .join('')
    : onScreen(act)
      ? inPrograms(act)
      : hasWords(act)
        ? ofModelsAndDevices(act)
        : act.subject;

/** Why it did not work; nothing when it did. */
export const failure = (act: ActivityRow): string | undefined =>
  act.ok
    ? undefined
    : act.why?.decision === 'ask'
      ? t('activity.waiting')
      : t('activity.failed', { reason: refusedLater(act) ? t('refused.protected') : named(`refused.${act.error_code}`, act.error_code ?? t('activity.unknown')) });

/** Why it was allowed or refused, where that is what decided. */
export function reason(act: ActivityRow): string | undefined {
  if (!act.why) return undefined;
  if (act.ok) return act.why.decision === 'allow' ? t('activity.allowed', { why: why(act.why) }) : why(act.why);
  return BY_POLICY.includes(act.error_code ?? '') && !refusedLater(act) ? why(act.why) : undefined;
}

const formats = new Map<string, Intl.DateTimeFormat>();
function format(kind: 'time' | 'day' | 'full'): Intl.DateTimeFormat {
  const key = `${language()} ${kind}`;
  const known = formats.get(key);
  if (known) return known;
  const made = new Intl.DateTimeFormat(
    language(),
    kind === 'day' ? { day: 'numeric', month: 'short', year: 'numeric' } : kind === 'time' ? { timeStyle: 'medium' } : { dateStyle: 'full', timeStyle: 'medium' },
  );
  formats.set(key, made);
  return made;
}

export const time = (ms: number): string => format('time').format(ms);
export const moment = (ms: number): string => format('full').format(ms);
/** The day of an act, where it is not the day of `now`. */
export const day = (ms: number, now: number): string =>
  new Date(ms).toDateString() === new Date(now).toDateString() ? '' : format('day').format(ms);

/** How long it took; nothing where that says nothing. */
export const took = (ms: number): string =>
  ms === 0 ? '' : ms < 1_000 ? t('activity.ms', { ms }) : t('activity.s', { seconds: new Intl.NumberFormat(language(), { maximumFractionDigits: 1 }).format(ms / 1000) });
