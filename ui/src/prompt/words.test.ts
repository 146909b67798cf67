import { afterEach, expect, it } from 'vitest';
import labels from '../../../crates/engine/src/prompts/label.rs?raw';
import type { PromptView } from '../generated/types';
import { chooseLanguage } from '../lib/text';
import { de } from '../lib/text/de';
import { en } from '../lib/text/en';
import { countdown, part, said } from './countdown';
import { fact, leftOut, name, rows } from './facts';
import { command } from './rig';
import { asker, nameOf, question } from './words';

afterEach(() => void chooseLanguage('en', 'en'));

const file = (operation: string, facts: Record<string, string>): PromptView => ({
  ...command,
  operation,
  argv: [],
  power: 'files',
  details: Object.entries(facts).map(([label, value]) => ({ label, value })),
});
const chat = { folder: '/home/ada/Quarterly report' } as Parameters<typeof question>[1];

it('asks in one plain sentence', () => {
  const sentences: [PromptView, string][] = [
    [command, 'Run a command in “Quarterly report”?'],
    [{ ...command, details: [] }, 'Run a command on this computer?'],
    [file('FILE_READ', { path: 'notes/a.md' }), 'Read “a.md”?'],
    [file('FILE_WRITE', { path: 'a.md', kind: 'missing' }), 'Create the file “a.md”?'],
    [file('FILE_WRITE', { path: 'a.md', kind: 'file' }), 'Change the file “a.md”?'],
    [file('FILE_WRITE', { path: 'a.md', kind: 'link' }), 'Write the file “a.md”?'],
    [file('FILE_DELETE', { path: 'a.md', kind: 'file' }), 'Delete “a.md”?'],
    [file('FILE_DELETE', { path: 'old', kind: 'folder' }), 'Delete the folder “old”?'],
    [file('FILE_DELETE', { path: 'old', kind: 'folder', recursive: 'yes' }), 'Delete the folder “old” with everything inside?'],
    [file('FILE_MOVE', { path: 'a.md', to: 'b/c.md' }), 'Move “a.md” to “c.md”?'],
    [file('FILE_MOVE', { path: 'a.md', to: 'b/c.md', replaces: 'file' }), 'Move “a.md” to “c.md” and replace what is there?'],
    [{ ...file('ATTACH_SESSION', {}), folder: 'C:\\Users\\ada\\Plans' }, 'Let a chat work in “Plans”?'],
  ];
  for (const [prompt, sentence] of sentences) expect(question(prompt, undefined)).toBe(sentence);
});

it('asks in German, too, and in the words of the engine where it has none', () => {
  chooseLanguage('de', 'en');
  expect(question(file('FILE_DELETE', { path: 'alt', kind: 'folder', recursive: 'yes' }), undefined)).toBe('Den Ordner „alt“ mit allem darin löschen?');
  expect(question({ ...command, operation: 'MOON_PHASE', summary: 'The agent wants the moon' }, undefined)).toBe('The agent wants the moon');
});

it('asks about models and devices by their names, and says who asks where no chat does', () => {
  const model = (operation: string, session_id: string | null): PromptView => ({ ...file(operation, { model: 'hf.co/ada/small:Q4' }), power: 'local_model', session_id });
  const device = (operation: string): PromptView => ({ ...file(operation, { device: 'USB/Serial adapter' }), power: 'hardware', session_id: null });
  const sentences: [PromptView, string, string][] = [
    [model('LOCAL_LLM_COMPLETION', 'chat-1'), 'Ask the local model “hf.co/ada/small:Q4”?', 'Asked by platform.example for chat chat-1'],
    [model('LOCAL_LLM_COMPLETION', null), 'Try the model “hf.co/ada/small:Q4”?', 'Asked by you, with “Try it” or on the command line'],
    [model('LOCAL_LLM_RELEASE', 'chat-1'), 'Let this answer leave your computer?', 'Asked by platform.example for chat chat-1'],
    [device('HARDWARE_SERIAL_WRITE'), 'Write to the serial port “USB/Serial adapter”?', 'Asked by a program of yours, through the command line'],
  ];
  for (const [prompt, sentence, who] of sentences) expect([question(prompt, undefined), asker(prompt, undefined)]).toEqual([sentence, who]);
});

it('asks about the screen by the app that is there', () => {
  const screen = (operation: string, facts: Record<string, string>): PromptView => ({ ...file(operation, facts), power: 'computer_use' });
  const sentences: [PromptView, string][] = [
    [screen('SCREENSHOT_REQUEST', { area: 'all' }), 'Let the agent see the screen?'],
    [screen('SCREENSHOT_REQUEST', { window: 'win_1' }), 'Let the agent see a window?'],
    [screen('INPUT_ACTION', { action: 'double_click', app: 'Files' }), 'Click in “Files”?'],
    [screen('INPUT_ACTION', { action: 'left_click' }), 'Click on the screen?'],
    [screen('INPUT_ACTION', { action: 'mouse_move', app: 'Files' }), 'Move the mouse pointer?'],
    [screen('INPUT_ACTION', { action: 'type', app: 'Mail', text: 'hello' }), 'Type a text into “Mail”?'],
    [screen('INPUT_ACTION', { action: 'key', app: 'Mail', keys: 'ctrl+s' }), 'Press ctrl+s in “Mail”?'],
    [screen('INPUT_ACTION', { action: 'hold_key', keys: 'shift' }), 'Press shift on this computer?'],
    [screen('INPUT_ACTION', { action: 'somersault' }), 'Let the agent use mouse or keyboard?'],
    [screen('APP_LAUNCH', { app_id: 'org.x.Calc', app_name: 'Calc' }), 'Start the app “Calc”?'],
    [screen('APP_LAUNCH', { program: '/usr/bin/calc' }), 'Start the app “calc”?'],
    [screen('APP_LAUNCH', {}), 'Let the agent start an app?'],
    [screen('CLIPBOARD_READ', { clipboard: 'foreign' }), 'Read what is in the clipboard?'],
    [screen('CLIPBOARD_READ', { clipboard: 'own' }), 'Let the agent read the clipboard?'],
  ];
  for (const [prompt, sentence] of sentences) expect(question(prompt, undefined)).toBe(sentence);
});

it('puts what a question about the screen says in words', () => {
  const prompt = { ...command, details: [
    { label: 'area', value: 'all' },
    { label: 'area', value: '2' },
    { label: 'area', value: '10, 20 – 30, 40' },
    { label: 'scroll', value: 'down × 3' },
    { label: 'text', value: 'shown elsewhere' },
    { label: 'in_terminal', value: 'yes' },
  ] };
  expect(rows(prompt).map((row) => [row.label, row.values.map((value) => value.text), row.warn])).toEqual([
    ['area', ['all displays', 'display 3', '10, 20 – 30, 40'], false],
    ['scroll', ['down × 3'], false],
    ['in_terminal', ['in a terminal, where it can run commands'], true],
  ]);
});

it('says who asks', () => {
  expect(asker(command, chat)).toBe('Asked by platform.example for the chat in “Quarterly report”');
  expect(asker(command, undefined)).toBe('Asked by platform.example for chat chat-1');
  expect(asker({ ...command, session_id: null }, undefined)).toBe('Asked by platform.example');
});

it('keeps a name short, and from turning the sentence around it', () => {
  const long = `${'a'.repeat(60)}-end.txt`;
  expect(nameOf(`/home/${long}`)).toBe(`${'a'.repeat(24)}…${'a'.repeat(15)}-end.txt`);
  expect(nameOf('/home/סיכום.txt')).toBe('\u2066סיכום.txt\u2069');
  expect(nameOf('/')).toBe('/');
});

it('has words in both languages for every fact that the engine can show', () => {
  const keys = [...labels.matchAll(/^\s+\w+ = "(\w+)",$/gm)].map((found) => found[1]);
  const values = (list: string) => [...(new RegExp(`${list}[^=]*= \\[(.*?)\\]`, 's').exec(labels)?.[1] ?? '').matchAll(/"(\w+)"/g)].map((found) => found[1]);
  const wanted = [
    ...keys.map((key) => `prompt.detail.${key}`),
    ...values('PROMPT_WALLS').map((value) => `prompt.value.walls.${value}`),
    ...values('PROMPT_KINDS').map((value) => `prompt.value.kind.${value}`),
    ...values('PROMPT_ACTIONS').map((value) => `prompt.value.action.${value}`),
  ];

  expect(keys.length).toBeGreaterThan(20);
  expect(wanted.length).toBe(keys.length + 22);
  expect(wanted.filter((key) => !(key in en) || !(key in de))).toEqual([]);
});

it('puts facts of a label together, in the words of the person, and keeps a label without words', () => {
  const prompt = { ...command, details: [
    { label: 'environment_variable', value: 'LANG' },
    { label: 'walls', value: 'full' },
    { label: 'environment_variable', value: 'TOKEN' },
    { label: 'size', value: '2210' },
    { label: 'replaces', value: 'folder' },
    { label: 'entries_at_least', value: '10000' },
    { label: 'phase', value: 'waxing' },
    { label: 'folder', value: '/home/ada' },
  ] };

  const shown = rows(prompt).map((row) => [name(row.label), row.values.map((value) => value.text), row.warn]);

  expect(shown).toEqual([
    ['Variables it gets', ['LANG', 'TOKEN'], false],
    ['Walls', ['None. It can read, change and delete whatever you can.'], true],
    ['Size', ['2.2 KiB (2,210 bytes)'], false],
    ['Replaces', ['a folder'], true],
    ['Things inside, at least', ['10,000'], false],
    ['phase', ['waxing'], false],
  ]);
});

it('says that something is left out beside the fact it belongs to', () => {
  const prompt = { ...command, details: [
    { label: 'command', value: 'a … b' },
    { label: 'left_out', value: '4100' },
    { label: 'path', value: 'c … d' },
    { label: 'left_out', value: '7' },
  ] };

  expect([fact(prompt, 'command'), leftOut(prompt, 'command'), leftOut(prompt, 'path'), leftOut(prompt, 'size')]).toEqual(['a … b', 4100, 7, 0]);
  expect(rows(prompt)).toEqual([{ label: 'path', warn: false, values: [{ text: 'c … d', kind: 'outside', leftOut: 7 }] }]);
});

it('counts down in words and says so aloud only twice and at the end', () => {
  expect([countdown(42), countdown(1), countdown(0)]).toEqual(['Denied by itself in 42 s', 'Denied by itself in 1 s', 'The time is over: it is denied']);
  const spoken = Array.from({ length: 61 }, (_, passed) => said(60 - passed));
  expect([...new Set(spoken)]).toEqual(['', 'Denied by itself in 30 s', 'Denied by itself in 10 s', 'The time is over: it is denied']);
  expect([part(60_000, 0), part(60_000, 30_000), part(60_000, 61_000), part(90_000, 0)]).toEqual([1, 0.5, 0, 1]);
});
