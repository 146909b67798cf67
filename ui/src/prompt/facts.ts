/** Puts the facts of a question in the order and form in which they are read. */
import type { PromptView } from '../generated/types';
import { bytes } from '../lib/format';
import { named, plural } from '../lib/text';

export interface Row {
  label: string;
  /** "names": short names side by side. "words": our own words. "text": text from outside. */
  kind: 'names' | 'words' | 'text';
  values: string[];
}

/** Facts that have a place of their own. */
const elsewhere = new Set(['command', 'folder']);
const names = new Set(['environment variable']);

/** The text that a shell parses, if the question is about one. */
export const shellText = (prompt: PromptView): string | undefined =>
  prompt.details.find((one) => one.label === 'command')?.value;

/** The rows, those of the same label together. */
export function rows(prompt: PromptView): Row[] {
  const found = new Map<string, Row>();
  for (const { label, value } of prompt.details) {
    if (elsewhere.has(label) || (prompt.argv.length > 0 && (label === 'argument' || label === 'program'))) continue;
    const row = found.get(label) ?? { label, ...shown(label, value), values: [] };
    row.values.push(shown(label, value).value);
    found.set(label, row);
  }
  return [...found.values()].map(({ label, kind, values }) => ({ label, kind, values }));
}

function shown(label: string, value: string): { kind: Row['kind']; value: string } {
  if (names.has(label)) return { kind: 'names', value };
  if (label === 'bytes' && /^\d+$/.test(value)) return { kind: 'words', value: size(Number(value)) };
  const words = named(`prompt.value.${label}.${value}`, '');
  return words === '' ? { kind: 'text', value } : { kind: 'words', value: words };
}

const size = (count: number): string => (count < 1024 ? plural('prompt.bytes', count) : `${bytes(count)} (${plural('prompt.bytes', count)})`);
