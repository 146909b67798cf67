import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte';
import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { tick } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Command, Snapshot } from '../generated/types';
import { en } from '../lib/text/en';
import Activity from './Activity.svelte';
import { act, Log, turns } from './log';

const ROW = 54;
let log: Log;
let others: Command[];
let answers: Record<string, unknown>;

beforeEach(() => {
  log = new Log(1_000);
  others = [];
  answers = {};
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('ResizeObserver', class { observe() {} unobserve() {} disconnect() {} });
  // Nothing has a size here: the list is ten rows high.
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockImplementation(function (this: HTMLElement) {
    return this.classList.contains('probe') ? ROW : this.getAttribute('role') === 'grid' ? 10 * ROW : 0;
  });
  mockIPC((name, payload) => {
    if (name === 'export_audit') return answers.exported;
    const { command } = payload as { command: Command };
    if (command.command === 'activity_page') return log.send(command);
    others.push(command);
    const answer = answers[command.command];
    if (answer instanceof Error) throw { code: 'undefined_here', message: answer.message };
    return answer;
  });
});
afterEach(() => {
  cleanup();
  clearMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const settle = async () => {
  for (let round = 0; round < 5; round += 1) {
    await turns();
    await tick();
  }
};
const picture = (records: number): Snapshot =>
  ({
    chats: [{ session_id: 'chat-1', folder: '/home/ada/Quarterly report' }],
    powers: [{ power: 'files' }, { power: 'shell' }],
    audit: { path: '/audit.log', records, bytes: records * 400, unavailable: false },
  }) as unknown as Snapshot;
const open = async (props: object = {}) => {
  const view = render(Activity, { shown: picture(log.rows.length), ...props });
  await settle();
  return {
    /** New acts come, and a picture tells of them. */
    news: async (count: number) => {
      log.add(count);
      await view.rerender({ shown: picture(log.rows.length), ...props });
      await settle();
    },
  };
};
const grid = () => screen.getByRole('grid');
const rows = () => within(grid()).getAllByRole('row');
const status = () => screen.getAllByRole('status')[0]?.textContent?.trim();
const key = async (name: string) => {
  await fireEvent.keyDown(document.activeElement ?? grid(), { key: name });
  await settle();
};
const last = () => log.asked.at(-1);

it('shows the newest of very many and has only a few in the document', async () => {
  log = new Log(100_000);
  await open();

  expect(rows()[0]?.textContent).toContain('note 100000.md');
  expect(rows().length).toBeLessThan(40);
  expect(grid().getAttribute('aria-rowcount')).toBe('100000');
  expect(status()).toBe('100,000 entries');
});

it('follows what happens, but asks at most four times a second however many pictures come', async () => {
  const { news } = await open();
  const before = log.asked.length;
  for (let pictures = 0; pictures < 20; pictures += 1) await news(50);
  expect(log.asked.length - before).toBe(1);

  await vi.advanceTimersByTimeAsync(250);
  await settle();

  expect(log.asked.length - before).toBe(2);
  expect(rows()[0]?.textContent).toContain('note 2000.md');
});

it('asks nothing when pictures tell nothing new', async () => {
  const { news } = await open();
  const before = log.asked.length;
  for (let pictures = 0; pictures < 20; pictures += 1) await news(0);
  await vi.advanceTimersByTimeAsync(1_000);

  expect(log.asked.length).toBe(before);
});

it('keeps still below the top and offers what is new', async () => {
  const { news } = await open();
  grid().scrollTop = 500 * ROW;
  await fireEvent.scroll(grid());
  await settle();
  const read = rows().map((row) => row.textContent);
  expect(read[8]).toContain('note 500.md');

  await news(12);
  expect(rows().map((row) => row.textContent)).toEqual(read);
  await fireEvent.click(screen.getByRole('button', { name: '12 new' }));
  await settle();

  expect(rows()[0]?.textContent).toContain('note 1012.md');
  expect(screen.queryByRole('button', { name: /new$/ })).toBeNull();
});

it('is walked through by keys, with one row that Tab reaches', async () => {
  await open();
  const reachable = () => rows().filter((row) => row.tabIndex === 0);
  expect(reachable()).toHaveLength(1);
  reachable()[0]?.focus();

  const steps: [string, number][] = [['ArrowDown', 999], ['ArrowDown', 998], ['ArrowUp', 999], ['PageDown', 990], ['End', 1], ['PageUp', 10], ['Home', 1_000]];
  for (const [name, number] of steps) {
    await key(name);
    expect([name, document.activeElement?.textContent]).toEqual([name, expect.stringContaining(`note ${number}.md`)]);
    expect(reachable()).toEqual([document.activeElement]);
  }
});

it('stays still while a row has the focus', async () => {
  const { news } = await open();
  rows()[0]?.focus();
  await settle();
  await news(3);

  expect(document.activeElement?.textContent).toContain('note 1000.md');
  expect(screen.getByRole('button', { name: '3 new' })).toBeTruthy();
});

it('filters by chat, power, outcome and text, and counts the matches', async () => {
  await open();
  const select = (name: string, value: string) => fireEvent.change(screen.getByLabelText(name), { target: { value } });
  await select('Chat', 'chat-1');
  await select('Power', 'shell');
  await select('Outcome', 'refused');
  await settle();
  expect(last()?.filter).toEqual({ session_id: 'chat-1', power: 'shell', outcome: 'refused', text: null });

  const asked = log.asked.length;
  for (const text of ['n', 'no', 'note 77']) await fireEvent.input(screen.getByLabelText('Search'), { target: { value: text } });
  await settle();
  expect(log.asked.length).toBe(asked);
  await vi.advanceTimersByTimeAsync(250);
  await settle();
  expect(log.asked.length).toBe(asked + 1);
  expect(last()?.filter).toEqual({ session_id: 'chat-1', power: 'shell', outcome: 'refused', text: 'note 77' });
  expect(status()).toBe('11 entries match');

  await fireEvent.click(screen.getByRole('button', { name: 'Clear filter' }));
  await settle();
  expect(last()?.filter).toEqual({ session_id: null, power: null, outcome: null, text: null });
  expect(screen.getByLabelText<HTMLInputElement>('Search').value).toBe('');
});

it('can begin with the acts of one chat', async () => {
  await open({ chat: 'chat-1' });

  expect(log.asked[0]?.filter.session_id).toBe('chat-1');
});

it('says when nothing has happened, and when nothing matches', async () => {
  log = new Log(0);
  await open();
  expect(screen.getByText('Nothing has happened yet')).toBeTruthy();

  await fireEvent.change(screen.getByLabelText('Outcome'), { target: { value: 'refused' } });
  await settle();
  expect(screen.getByText('Nothing matches')).toBeTruthy();
});

it('says in words what went wrong and tries again', async () => {
  log.failing = true;
  await open();
  expect(screen.getByRole('alert').textContent).toContain(en['error.audit_unavailable']);

  log.failing = false;
  await fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
  await settle();
  expect(screen.queryByRole('alert')).toBeNull();
  expect(rows()[0]?.textContent).toContain('note 1000.md');
});

it('opens the record of a row, says why and what would hold now, and leads to the rules', async () => {
  const went: string[] = [];
  log.rows[998] = act(999, { file: 'f7', seq: 12, session_id: 'chat-1' });
  answers.audit_record = {
    reply: 'record',
    record: {
      seq: 12,
      at_ms: 0,
      fields: [{ label: 'details.path', value: 'note\\u{202E}.md' }],
      why: { decision: 'allow', rule: 'chat_allowance', power: 'files', mode: null, by: null, text: '' },
      now: { operation: 'FILE_READ', power: 'files', decision: 'deny', rule: 'raised', mode: null, by: null, why: '' },
    },
  };
  await open({ go: (page: string) => went.push(page) });
  rows()[0]?.focus();
  await key('ArrowDown');
  await key('Enter');

  const box = within(screen.getByRole('dialog'));
  expect(others).toEqual([{ command: 'audit_record', seq: 12, file: 'f7' }]);
  expect(box.getByText('Why was this allowed?').nextElementSibling?.textContent).toBe('You allowed “Files” for this chat.');
  expect(box.getByText('And now?').nextElementSibling?.textContent).toBe('Now it would be refused. The bridge is raised: nothing may act until you lower it.');
  expect(box.getByText('note\\u{202E}.md')).toBeTruthy();
  expect(box.getByText(/Quarterly report/)).toBeTruthy();

  await fireEvent.click(box.getByRole('button', { name: 'Go to Rules' }));
  expect(went).toEqual(['rules']);
  expect(screen.queryByRole('dialog')).toBeNull();
});

it('names what an act on the screen was in words, number by number, and leaves out what it had no use for', async () => {
  log.rows[999] = act(1_000, { operation: 'INPUT_ACTION', seq: 3 });
  answers.audit_record = {
    reply: 'record',
    record: {
      seq: 3,
      at_ms: 0,
      fields: [
        { label: 'details.coordinate.1', value: '150' },
        { label: 'details.key', value: 'null' },
        { label: 'details.modifiers', value: '[]' },
        { label: 'details.decision.rule', value: 'mode' },
      ],
      why: null,
      now: null,
    },
  };
  await open();
  await fireEvent.click(rows()[0]!);
  await settle();

  const box = within(screen.getByRole('dialog'));
  expect(box.getByText('Place on the screen (2)').nextElementSibling?.textContent).toBe('150');
  expect(box.getByText('Keys').nextElementSibling?.textContent).toBe('–');
  expect(box.getByText('Keys held meanwhile').nextElementSibling?.textContent).toBe('–');
  expect(box.getByText('details.decision.rule')).toBeTruthy();
});

it('does not ask why something was allowed that failed for another reason', async () => {
  log.rows[999] = act(1_000, { ok: false, error_code: 'PATH_NOT_FOUND', seq: null });
  await open();
  await fireEvent.click(rows()[0]!);
  await settle();

  const box = within(screen.getByRole('dialog'));
  expect(box.getByText('Not done: no such file or folder.')).toBeTruthy();
  expect(box.getByText('The rules had allowed it').nextElementSibling?.textContent).toBe('“Files” is set to “Allowed”.');
  expect(box.getByText('Nothing more is written down about this.')).toBeTruthy();
  expect(others).toEqual([]);
});

it('leaves the rest of the page in reach while a record is open, and gives the focus back to its row', async () => {
  await open();
  rows()[0]?.focus();
  await key('ArrowDown');
  const row = document.activeElement;
  await key('Enter');
  const box = screen.getByRole('dialog', { name: /./ });
  expect(document.activeElement).toBe(within(box).getByRole('button', { name: 'Close' }));
  expect(box.matches('[aria-modal="true"]')).toBe(false);

  await key('Escape');
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(document.activeElement).toBe(row);

  await key('Enter');
  screen.getByLabelText('Search').focus();
  await key('Escape');
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(document.activeElement).toBe(screen.getByLabelText('Search'));
});

it('says when a record cannot be read', async () => {
  answers.audit_record = new Error('The record is not in the log any more.');
  await open();
  await fireEvent.click(rows()[3]!);
  await settle();

  expect(within(screen.getByRole('dialog')).getByRole('alert').textContent).toContain('not in the log any more');
});

it('says in words what checking and exporting found', async () => {
  await open();
  const press = async (name: RegExp) => {
    await fireEvent.click(screen.getByRole('button', { name }));
    await settle();
    return screen.getByRole('region', { name: 'Audit log' }).textContent;
  };

  answers.audit_verify = { reply: 'verified', report: { sound: true, files: 2, records: 1_000, findings: [] } };
  expect(await press(/^Check/)).toContain('All is well: 1,000 records in 2 files, none changed, none missing.');

  answers.audit_verify = { reply: 'verified', report: { sound: false, files: 2, records: 1_000, findings: [{ label: 'hmac_mismatch', value: 'audit.log, line 7' }] } };
  expect(await press(/^Check/)).toMatch(/1 thing is wrong with the log.*A record was changed audit\.log, line 7/);

  answers.exported = { reply: 'exported', path: '/home/ada/log.tar.gz', records: 1_000 };
  expect(await press(/^Export/)).toMatch(/1,000 records exported to \/home\/ada\/log\.tar\.gz/);

  answers.exported = null;
  expect(await press(/^Export/)).not.toMatch(/exported|wrong/);

  answers.audit_verify = new Error('The disk is gone.');
  expect(await press(/^Check/)).toContain('The disk is gone.');
});
