import { afterEach, expect, it } from 'vitest';
import decision from '../../../crates/policy/src/decision.rs?raw';
import type { ActivityRow, WhyView } from '../generated/types';
import { chooseLanguage } from '../lib/text';
import { de } from '../lib/text/de';
import { en } from '../lib/text/en';
import { about, failure, reason, took, words } from './act';
import { act } from './log';
import { why } from './why';

afterEach(() => void chooseLanguage('en', 'en'));

const of = (more: Partial<WhyView>): WhyView => ({ decision: 'allow', rule: 'mode', power: 'files', mode: 'allowed', by: null, text: 'in the words of the engine', ...more });
const rules = [...(/impl Rule \{.*?\n\}/s.exec(decision)?.[0] ?? '').matchAll(/Self::\w+(?: \{ \.\. \})? => "(\w+)"/g)].map((found) => found[1]!);

it('has words in both languages for every rule of the decision function', () => {
  expect(rules).toEqual(expect.arrayContaining(['raised', 'mode', 'answered', 'nobody_to_ask']));
  expect(rules.filter((rule) => !(`why.${rule}` in en) || !(`why.${rule}` in de))).toEqual([]);
  for (const rule of rules) expect(why(of({ rule, by: 'the administrator' }))).not.toMatch(/[{}]|in the words of the engine/);
});

it('says why in the words of the window', () => {
  expect(why(of({}))).toBe('“Files” is set to “Allowed”.');
  expect(why(of({ mode: 'off', decision: 'deny' }))).toBe('“Files” is switched off.');
  expect(why(of({ mode: 'ask_each_time', decision: 'ask' }))).toBe('“Files” is set to “Ask each time”.');
  expect(why(of({ power: 'attach', mode: 'ask_each_time' }))).toMatch(/^Only attaching a folder asks/);
  expect(why(of({ rule: 'locked_off', by: 'the administrator', power: null, mode: null }))).toBe('Switched off by the administrator.');
  chooseLanguage('de', 'en');
  expect(why(of({}))).toBe('„Dateien“ steht auf „Erlaubt“.');
});

it('says it in the words of the engine for a rule of another version', () => {
  expect(why(of({ rule: 'moon_phase' }))).toBe('in the words of the engine');
  expect(why({ operation: 'FILE_READ', power: null, decision: 'deny', rule: 'moon_phase', mode: null, by: null, why: 'the moon' })).toBe('the moon');
});

it('says of an act what came of it and why', () => {
  expect([words(act(1)), failure(act(1)), reason(act(1))]).toEqual(['Read a file', undefined, 'Allowed. “Files” is set to “Allowed”.']);

  const outside = act(2, { ok: false, error_code: 'PATH_OUTSIDE_ALLOWED_ROOT' });
  expect([words(outside), failure(outside), reason(outside)]).toEqual(['Wanted to read a file', 'Not done: outside of the attached folder.', undefined]);

  const off = act(3, { ok: false, error_code: 'CAPABILITY_NOT_GRANTED', why: of({ decision: 'deny', mode: 'off' }) });
  expect([failure(off), reason(off)]).toEqual(['Not done: not allowed.', '“Files” is switched off.']);

  const unknown = act(4, { operation: 'MOON_PHASE', ok: false, error_code: 'A_NEW_CODE' });
  expect([words(unknown), failure(unknown)]).toEqual(['MOON_PHASE', 'Not done: A_NEW_CODE.']);
});

it('says how long it took where that says something', () => {
  expect([took(0), took(12), took(41_280)]).toEqual(['', '12 ms', '41.3 s']);
});

it('says in words what a person did, and leaves what came from outside as it is', () => {
  const done = (operation: string, subject: string): ActivityRow => ({
    number: 1, at_ms: 0, session_id: null, operation, subject, ok: true, error_code: null, duration_ms: 0, why: null, seq: 1,
  });
  expect(about(done('CONSENT_ANSWERED', 'EXECUTE_COMMAND: allow_once'))).toBe('Wanted to run a command: allowed once');
  expect(about(done('POLICY_CHANGED', 'mode: ask_each_time, power: shell'))).toBe('mode: Ask each time, power: Commands');
  expect(about(done('FILE_READ', 'mode: off'))).toBe('mode: off');
  expect([words(done('STOP_ALL', 'lowered')), about(done('STOP_ALL', 'lowered'))]).toEqual(['Lowered the bridge', '']);
});
