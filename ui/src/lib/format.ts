/** Pure view logic: numbers and times in words. */
import { locale, t } from './text';

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1024 && unit < units.length - 1);
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export const clock = (ms: number): string =>
  new Date(ms).toLocaleTimeString(locale(), { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const secondsLeft = (expiresMs: number, nowMs: number): number => Math.max(0, Math.ceil((expiresMs - nowMs) / 1000));

/** A combination of keys, as "Ctrl+Alt+R", with the names that stand on the keys of the language. */
export const keyNames = (keys: string): string => keys.replace(/\b(?:Ctrl|Control)\b/g, t('settings.key.ctrl')).replace(/\bShift\b/g, t('settings.key.shift'));
