/** The reason of a decision in the person's language, from its rule. The engine's English sentence where no words are known. */
import type { ExplainView, WhyView } from '../generated/types';
import { whoFixed } from '../lib/managed';
import { named } from '../lib/text';

/** Says why. A rule can have other words for a mode, and for a mode and a decision; the closest that there are count. */
export function why(reason: WhyView | ExplainView): string {
  const { rule, power, mode, by, decision } = reason;
  const places = {
    power: named(`power.${power}`, power ?? ''),
    mode: named(`mode.${mode}`, mode ?? ''),
    by: by ? whoFixed(by) : '',
  };
  const engines = 'text' in reason ? reason.text : reason.why;
  return [`why.${rule}`, `why.${rule}.${decision}`, `why.${rule}.${mode}`, `why.${rule}.${mode}.${decision}`].reduce((words, key) => named(key, words, places), engines);
}
