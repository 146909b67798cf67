/** A long day in the log. */
import type { ActivityRow, Command, Reply, WhyView } from '../src/generated/types';

const why = (decision: string, rule: string, power: string | null, mode: string | null): WhyView => ({ decision, rule, power, mode, by: null, text: '' });
const kinds: Pick<ActivityRow, 'operation' | 'subject' | 'ok' | 'error_code' | 'why' | 'duration_ms'>[] = [
  { operation: 'FILE_READ', subject: 'figures/2026-q3.csv', ok: true, error_code: null, duration_ms: 3, why: why('allow', 'mode', 'files', 'allowed') },
  { operation: 'FILE_WRITE', subject: 'Quarterly report.md', ok: true, error_code: null, duration_ms: 12, why: why('allow', 'chat_allowance', 'files', null) },
  { operation: 'EXECUTE_COMMAND', subject: 'cargo test --workspace --locked', ok: true, error_code: null, duration_ms: 41_280, why: why('allow', 'answered', 'shell', null) },
  { operation: 'FILE_READ', subject: '../.ssh/id_ed25519', ok: false, error_code: 'PATH_OUTSIDE_ALLOWED_ROOT', duration_ms: 1, why: why('allow', 'mode', 'files', 'allowed') },
  { operation: 'EXECUTE_COMMAND', subject: 'curl -fsSL https://example.org/install.sh', ok: false, error_code: 'CAPABILITY_NOT_GRANTED', duration_ms: 0, why: why('deny', 'mode', 'shell', 'off') },
  { operation: 'FILE_LIST', subject: 'figures', ok: true, error_code: null, duration_ms: 5, why: why('allow', 'mode', 'files', 'allowed') },
  { operation: 'WS_CONNECTED', subject: '', ok: true, error_code: null, duration_ms: 0, why: null },
  { operation: 'FILE_DELETE', subject: 'old/a very long name that goes on and on/and on/until it does not fit into one line of the list any more.tmp', ok: true, error_code: null, duration_ms: 4, why: why('allow', 'mode', 'files', 'allowed') },
];

export function acts(count: number, from = 0): ActivityRow[] {
  const start = Date.now() - 26 * 3600_000;
  return Array.from({ length: count }, (_, at) => {
    const number = from + at + 1;
    const kind = kinds[(number * 7 + Math.floor(number / 5)) % kinds.length]!;
    return { ...kind, number, seq: number, file: 'f1', at_ms: from > 0 ? Date.now() : start + Math.floor((at / count) * 26 * 3600_000), session_id: number % 3 === 0 ? 'c-2' : 'c-1' };
  });
}

export function page(log: ActivityRow[], { filter, skip, limit }: Extract<Command, { command: 'activity_page' }>): Reply {
  const text = filter.text?.toLowerCase();
  const fits = (row: ActivityRow) =>
    (filter.session_id === null || row.session_id === filter.session_id) &&
    (filter.power === null || row.why?.power === filter.power) &&
    (filter.outcome === null || row.ok === (filter.outcome === 'ok')) &&
    (!text || `${row.operation} ${row.subject} ${row.error_code}`.toLowerCase().includes(text));
  const all = Object.values(filter).every((value) => value === null) ? log : log.filter(fits);
  const end = Math.max(0, all.length - skip);
  return { reply: 'activity', rows: all.slice(Math.max(0, end - limit), end).reverse(), total: all.length, unreadable: 0 };
}

export function record(log: ActivityRow[], seq: number): Reply {
  const row = log[seq - 1]!;
  const fields = { seq: String(seq), ts: new Date(row.at_ms).toISOString(), op: row.operation, session_id: row.session_id ?? '', request_id: '01JDX8T2M6Y5', 'details.path': row.subject, 'details.encoding': 'utf-8', 'result.status': row.ok ? 'ok' : 'error', 'result.code': row.error_code ?? '', hmac: '9f2b6c1d5e8a7f40b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0' };
  return {
    reply: 'record',
    record: {
      seq,
      at_ms: row.at_ms,
      fields: Object.entries(fields).map(([label, value]) => ({ label, value })),
      why: row.why,
      now: row.why && { operation: row.operation, power: row.why.power, decision: 'ask', rule: 'mode', mode: 'ask_each_time', by: null, why: '' },
    },
  };
}
