import { render } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import type { ActivityRow } from '../generated/types';
import Acts from './Acts.svelte';

const read: ActivityRow = {
  number: 1,
  at_ms: Date.UTC(2026, 0, 2, 3, 4, 5),
  session_id: 'chat-1',
  operation: 'FILE_READ',
  subject: 'notes.md',
  ok: true,
  error_code: null,
  duration_ms: 3,
  seq: 1,
  why: { decision: 'allow', rule: 'mode', power: 'files', mode: 'allowed', by: null, text: 'the power files is set to allowed' },
};
const shown = (act: ActivityRow) => render(Acts, { acts: [act] }).container.textContent;

it('says why an act was allowed', () => {
  expect(shown(read)).toContain('Allowed because the power files is set to allowed');
});

it('says in words what stopped an allowed act, and not that it was allowed', () => {
  const text = shown({ ...read, ok: false, error_code: 'PATH_OUTSIDE_ALLOWED_ROOT' });
  expect(text).toContain('Not done: outside of the attached folder');
  expect(text).not.toContain('set to allowed');
});

it('gives the reason of a refusal by the settings', () => {
  expect(shown({ ...read, ok: false, error_code: 'CAPABILITY_NOT_GRANTED', why: { decision: 'deny', rule: 'mode', power: 'files', mode: 'off', by: null, text: 'the power files is off' } })).toContain('the power files is off');
});

it('shows a code without words as it is', () => {
  expect(shown({ ...read, ok: false, error_code: 'A_NEW_CODE' })).toContain('Not done: A_NEW_CODE');
});
