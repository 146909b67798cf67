/** What came of taking changes back, in words. */
import type { ChangeCounts, PromptDetail, Reply } from '../generated/types';
import { plural, t } from './text';

export interface TakenBack {
  text: string;
  failed: PromptDetail[];
}

/** Reads the answer to a take back. Anything else than a whole success says so. */
export function takenBack(reply: Reply): TakenBack {
  if (reply.reply !== 'restored') return { text: t('undo.done'), failed: [] };
  if (reply.failed.length === 0) return { text: reply.count === 0 ? t('undo.done.none') : plural('undo.done', reply.count), failed: [] };
  const left = plural('undo.left', reply.failed.length);
  return { text: reply.count === 0 ? left : `${plural('undo.done', reply.count)} ${left}`, failed: reply.failed };
}

export const total = (counts: ChangeCounts): number => counts.created + counts.written + counts.moved + counts.deleted;

/** "2 new, 1 deleted": only what there is. */
export const changesInWords = (counts: ChangeCounts): string =>
  [
    counts.created > 0 && plural('undo.count.created', counts.created),
    counts.written > 0 && plural('undo.count.written', counts.written),
    counts.moved > 0 && plural('undo.count.moved', counts.moved),
    counts.deleted > 0 && plural('undo.count.deleted', counts.deleted),
  ]
    .filter((one) => one !== false)
    .join(', ');
