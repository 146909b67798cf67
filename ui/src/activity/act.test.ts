import { afterEach, expect, it } from 'vitest';
import type { ActivityRow } from '../generated/types';
import { chooseLanguage } from '../lib/text';
import { about, failure, hasWords, onScreen, reason, words } from './act';

const act = (operation: string, subject: string, more: Partial<ActivityRow> = {}): ActivityRow => ({
  number: 1, at_ms: 0, session_id: null, operation, subject, ok: true, error_code: null, duration_ms: 0, why: null, seq: 1, ...more,
});

afterEach(() => chooseLanguage('en', 'en'));

it('tells in words what was done on the screen', () => {
  const told: [string, string, string][] = [
    ['SCREENSHOT_REQUEST', 'display 0', 'the main display'],
    ['SCREENSHOT_REQUEST', 'display 1', 'display 2'],
    ['SCREENSHOT_REQUEST', 'all displays', 'all displays'],
    ['SCREENSHOT_REQUEST', 'region 0, 0, 40, 30', 'part 0, 0, 40, 30'],
    ['SCREENSHOT_REQUEST', 'win_7', 'win_7'],
    ['INPUT_ACTION', 'ctrl+shift+left_click 500, 300', 'ctrl+shift+click 500, 300'],
    ['INPUT_ACTION', 'type 1 bytes', 'text typed 1 byte'],
    ['INPUT_ACTION', 'key ctrl+s', 'keys pressed ctrl+s'],
    ['INPUT_ACTION', 'somersault', 'somersault'],
    ['WINDOW_LIST_REQUEST', '1 windows', '1 window'],
    ['APP_LIST_REQUEST', '12 apps', '12 apps'],
    ['WINDOW_LIST_REQUEST', '12 apps of mine', '12 apps of mine'],
    ['CLIPBOARD_READ', 'text, 2048 bytes', '2,048 bytes'],
    ['APP_LAUNCH', '/usr/bin/left_click', '/usr/bin/left_click'],
  ];
  for (const [operation, subject, text] of told) expect([subject, about(act(operation, subject))]).toEqual([subject, text]);
  expect(words(act('INPUT_ACTION', 'wait'))).toBe('Used mouse or keyboard');
  chooseLanguage('de', 'en');
  expect(about(act('INPUT_ACTION', 'left_click 1, 2'))).toBe('Klick 1, 2');
});

it('tells in words how much went to models and devices, and leaves names from outside', () => {
  const told: [string, string, string][] = [
    ['LOCAL_LLM_TURN', 'small: 1 files: 2 files', 'small: 1 files: 2 Dateien'],
    ['LOCAL_LLM_TURN', 'small:1b: 1 file', 'small:1b: 1 Datei'],
    ['HARDWARE_SERIAL_WRITE', 'Board: 2048 bytes', 'Board: 2.048 Bytes'],
    ['HARDWARE_GPIO_WRITE', 'chip: line 17 high', 'chip: Leitung 17 high'],
    ['HARDWARE_SERIAL_OPEN', 'Board: 9600 8N1', 'Board: 9600 8N1'],
    ['FILE_READ_STUB', 'a: 2 bytes', 'a: 2 bytes'],
    ['POLICY_CHANGED', 'chat: salaries, private: true', 'Chat: salaries, privat: ja'],
  ];
  chooseLanguage('de', 'en');
  for (const [operation, subject, text] of told) expect([subject, about(act(operation, subject))]).toEqual([subject, text]);
  expect([hasWords(act('HARDWARE_SERIAL_READ', '')), hasWords(act('FILE_READ', ''))]).toEqual([true, false]);
});

it('leaves what is about files as it is', () => {
  expect(about(act('FILE_READ', 'type 1 bytes'))).toBe('type 1 bytes');
  expect([onScreen(act('FILE_READ', '')), onScreen(act('APP_LIST_REQUEST', ''))]).toEqual([false, true]);
});

it('says that something there is protected, where the rules had allowed it', () => {
  const allowed = { decision: 'allow', rule: 'mode', power: 'computer_use', mode: 'allowed', by: null, text: '' };
  const refused = act('INPUT_ACTION', 'left_click 1, 2', { ok: false, error_code: 'CAPABILITY_NOT_GRANTED', why: allowed });
  expect(failure(refused)).toBe('Not done: a protected window is there, or the bridge went up.');
  expect(reason(refused)).toBeUndefined();

  const off = { ...refused, why: { ...allowed, decision: 'deny', mode: 'off' } };
  expect(failure(off)).toBe('Not done: not allowed.');
  expect(reason(off)).toContain('switched off');
  expect(failure(act('CLIPBOARD_READ', '', { ok: false, error_code: 'CLIPBOARD_CONCEALED', why: allowed }))).toContain('agents may not read');
});

it('has words of its own for each thing that can be wrong with a device', () => {
  const codes = ['ABSENT', 'UNPLUGGED', 'BUSY', 'DENIED', 'NOT_OPEN', 'ALREADY_OPEN', 'UNSUPPORTED', 'TIMEOUT', 'REFUSED', 'OVERRUN', 'NO_SYSTEM', 'FAILED', 'ACT_ENDED'].map((code) => `DEVICE_${code}`);
  const told = (code: string) => failure(act('HARDWARE_SERIAL_OPEN', 'Board', { ok: false, error_code: code }));
  for (const of of ['en', 'de'] as const) {
    chooseLanguage(of, 'en');
    expect(new Set(codes.map(told)).size).toBe(codes.length);
    for (const code of codes) expect(told(code)).not.toContain(code);
  }
  chooseLanguage('en', 'en');
  expect(told('DEVICE_BUSY')).toBe('Not done: it is held by another program or another chat.');
});
