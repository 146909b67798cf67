/** What the tests of the activity page share: a log that is acted, with answers under their control. */
import type { ActivityRow, Command, Reply } from '../generated/types';

export const act = (number: number, more: Partial<ActivityRow> = {}): ActivityRow => ({
  number,
  seq: number,
  at_ms: Date.UTC(2026, 0, 2, 3, 4, 5) + number * 1000,
  session_id: 'chat-1',
  operation: 'FILE_READ',
  subject: `note ${number}.md`,
  ok: true,
  error_code: null,
  duration_ms: 3,
  why: { decision: 'allow', rule: 'mode', power: 'files', mode: 'allowed', by: null, text: 'the power files is set to allowed' },
  ...more,
});

export class Log {
  rows: ActivityRow[];
  asked: Extract<Command, { command: 'activity_page' }>[] = [];
  /** Answers that are held back, oldest first. */
  held: (() => void)[] = [];
  holding = false;
  failing = false;
  /** Most answers that were under way at once. */
  most = 0;
  #open = 0;

  constructor(count: number) {
    this.rows = Array.from({ length: count }, (_, index) => act(index + 1));
  }

  add(count: number): void {
    for (let more = 0; more < count; more += 1) this.rows.push(act(this.rows.length + 1));
  }

  send = async (command: Command): Promise<Reply> => {
    if (command.command !== 'activity_page') throw { code: 'unexpected', message: command.command };
    this.asked.push(command);
    this.#open += 1;
    this.most = Math.max(this.most, this.#open);
    if (this.holding) await new Promise<void>((go) => this.held.push(go));
    this.#open -= 1;
    if (this.failing) throw { code: 'audit_unavailable', message: 'the log is gone' };
    const { filter, skip, limit } = command;
    const fits = this.rows.filter((row) => filter.text === null || row.subject.includes(filter.text)).reverse();
    return { reply: 'activity', rows: fits.slice(skip, skip + limit), total: fits.length, unreadable: 0 };
  };

  /** Lets the oldest answer go. */
  async release(): Promise<void> {
    this.held.shift()?.();
    await turns();
  }
}

export const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};
