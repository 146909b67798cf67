/** The time that is left for an answer, as words and as a part of a bar. */
import { plural, t } from '../lib/text';

/** Milliseconds that the engine gives a question. The bar of a question that came late does not start full. */
const LIFE_MS = 60_000;
/** Seconds at which a screen reader says how much is left. More often would talk over the question. */
const SAID_AT = [30, 10];

/** What stands beside the bar. */
export const countdown = (seconds: number): string => (seconds > 0 ? plural('prompt.seconds', seconds) : t('prompt.time_over'));

/** What a screen reader says: it changes only a few times, so that it is said only a few times. */
export function said(seconds: number): string {
  if (seconds === 0) return t('prompt.time_over');
  const at = SAID_AT.filter((mark) => seconds <= mark).at(-1);
  return at === undefined ? '' : plural('prompt.seconds', at);
}

/** The part that is left, 0 to 1. */
export const part = (expiresMs: number, nowMs: number): number => Math.min(1, Math.max(0, (expiresMs - nowMs) / LIFE_MS));
