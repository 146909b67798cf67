/** Times in words a person would use. The clock of the page moves twice a minute: nothing here counts seconds. */
import { locale } from './text';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let now = $state(Date.now());

/** Lets the shown times grow older. Returns how to end that. */
export function keepTime(): () => void {
  const tick = setInterval(() => (now = Date.now()), MINUTE / 2);
  return () => clearInterval(tick);
}

/** "now", "5 minutes ago", "yesterday", and the date for what is older than a week. */
export function ago(ms: number, at: number = now): string {
  const age = Math.max(0, at - ms);
  const words = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' });
  if (age < MINUTE) return words.format(0, 'second');
  if (age < HOUR) return words.format(-Math.floor(age / MINUTE), 'minute');
  if (age < DAY) return words.format(-Math.floor(age / HOUR), 'hour');
  if (age < 7 * DAY) return words.format(-Math.floor(age / DAY), 'day');
  return new Date(ms).toLocaleDateString(locale(), { dateStyle: 'medium' });
}

/** Date and time in full, for the title of a shorter one. */
export const exactly = (ms: number): string => new Date(ms).toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'medium' });
