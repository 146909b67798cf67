/** Puts the facts of a question in the form in which they are read. The engine's labels are keys of texts. */
import type { PromptView } from '../generated/types';
import { bytes } from '../lib/format';
import { language, named, plural, t } from '../lib/text';

export interface Value {
  text: string;
  /** "outside": text from outside, shown mark by mark. "words": our own. */
  kind: 'outside' | 'words';
  /** Characters that the engine left out in its middle. */
  leftOut: number;
}

export interface Row {
  label: string;
  values: Value[];
  /** What a person should not pass over. */
  warn: boolean;
}

/** Texts of many lines, in the order in which they are read: what would leave, what is asked, what is told besides. */
export const LONG = ['answer', 'task', 'context', 'last_message'] as const;
/** Facts that have a place of their own. */
const ELSEWHERE = new Set<string>(['command', 'text', 'folder', 'offered', 'chosen', ...LONG]);
const SIZES = new Set(['size', 'size_before']);
const NUMBERS = new Set(['more_arguments', 'more_points', 'new_folders', 'entries', 'entries_at_least', 'text_length', 'duration', 'messages', 'messages_length', 'max_tokens', 'first_bytes']);
const WARN = new Set(['program_not_found', 'more_arguments', 'more_points', 'recursive', 'replaces', 'walls.full', 'in_terminal', 'clipboard.foreign', 'model_elsewhere', 'first_bytes']);

/** Where it happens: stands before what changes there. */
export const isPlace = (row: Row): boolean => ['path', 'target', 'to', 'to_target'].includes(row.label);

/** Returns the first fact of a label. */
export const fact = (prompt: PromptView, label: string): string | undefined => prompt.details.find((one) => one.label === label)?.value;

/** The name of a fact; as the engine calls it where there is no word for it. */
export const name = (label: string): string => named(`prompt.detail.${label}`, label);

/** Says that something is missing in the middle of a fact with a place of its own. */
export function leftOut(prompt: PromptView, label: string): number {
  const at = prompt.details.findIndex((one) => one.label === label);
  const next = prompt.details[at + 1];
  return at >= 0 && next?.label === 'left_out' ? Number(next.value) : 0;
}

/** The rows, those of the same label together, in the engine's order. */
export function rows(prompt: PromptView): Row[] {
  const found = new Map<string, Row>();
  let last: Value | undefined;
  for (const { label, value } of prompt.details) {
    if (label === 'left_out') {
      if (last) last.leftOut = Number(value);
      continue;
    }
    last = undefined;
    if (ELSEWHERE.has(label)) continue;
    const row = found.get(label) ?? { label, values: [], warn: false };
    last = shown(label, value);
    row.values.push(last);
    row.warn ||= WARN.has(label) || WARN.has(`${label}.${value}`);
    found.set(label, row);
  }
  return [...found.values()];
}

function shown(label: string, value: string): Value {
  const isNumber = /^\d{1,15}$/.test(value);
  if (isNumber && SIZES.has(label)) return { text: size(Number(value)), kind: 'words', leftOut: 0 };
  if (isNumber && NUMBERS.has(label)) return { text: new Intl.NumberFormat(language()).format(Number(value)), kind: 'words', leftOut: 0 };
  if (label === 'area' && isNumber && value !== '0') return { text: t('prompt.area.display', { number: Number(value) + 1 }), kind: 'words', leftOut: 0 };
  const turned = label === 'scroll' ? /^(up|down|left|right) × (\d+)$/.exec(value) : null;
  if (turned) return { text: `${named(`prompt.value.scroll.${turned[1]}`, '')} × ${turned[2]}`, kind: 'words', leftOut: 0 };
  const words = named(`prompt.value.${label === 'replaces' ? 'kind' : label}.${value}`, '');
  return words === '' ? { text: value, kind: 'outside', leftOut: 0 } : { text: words, kind: 'words', leftOut: 0 };
}

const size = (count: number): string => (count < 1024 ? plural('prompt.bytes', count) : t('prompt.size', { short: bytes(count), exact: plural('prompt.bytes', count) }));
