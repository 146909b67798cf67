/** Acts the program behind the page, so that the page can be looked at in any browser. */
import { mockIPC, mockWindows } from '@tauri-apps/api/mocks';
import { emit } from '@tauri-apps/api/event';
import type { Command, Prefs, PromptView, Reply, Snapshot } from '../src/generated/types';
import { acts, page, record } from './acts';
import { scenes } from './scenes';
import { snapshot } from './snapshot';

const asked = new URLSearchParams(location.search);
const prefs: Prefs = {
  theme: asked.get('theme') ?? 'system',
  language: asked.get('lang') ?? 'en',
  zoom: 100,
  first_run: Number(asked.get('first') ?? 4),
  hot_key: true,
  notifications: true,
  size: null,
  plain_drawing: false,
  practice: asked.has('practice'),
};
const scene = asked.get('scene');
const prompts: PromptView[] = scene === null ? [] : scene.split(',').map((name, index) => ({ ...scenes[name]!, id: index + 1, expires_at_ms: Date.now() + Number(asked.get('left') ?? 47) * 1000 }));
let shown: Snapshot = { ...snapshot, prompts };
const log = acts(Number(asked.get('rows') ?? 400));
shown.activity = log.slice(-50).reverse();
shown.audit.records = log.length;

declare global {
  interface Window {
    /** What the page sent, for looking at. */
    sent: Command[];
  }
}
window.sent = [];

mockWindows('main');
mockIPC(
  async (name, payload) => {
    switch (name) {
      case 'snapshot':
        return shown;
      case 'desktop':
        return { tray: true, hot_key: 'Ctrl+Alt+Pause', language: asked.get('lang') ?? 'en' };
      case 'prefs':
        return prefs;
      case 'set_prefs':
        Object.assign(prefs, (payload as { prefs: Prefs }).prefs);
        return emit('prefs', prefs);
      case 'choose_folder':
        show({ prompts: shown.prompts.map((one) => ({ ...one, folder: '/home/ada/Documents/Other', revision: one.revision + 1 })) });
        return true;
      case 'export_audit':
        return { reply: 'exported', path: '/home/ada/drawbridge-audit.tar.gz', records: log.length };
      case 'send':
        return answer((payload as { command: Command }).command);
      default:
        return null;
    }
  },
  { shouldMockEvents: true },
);

function show(part: Partial<Snapshot>): void {
  shown = { ...shown, ...part };
  void emit('snapshot', shown);
}

async function answer(command: Command): Promise<Reply> {
  window.sent.push(command);
  switch (command.command) {
    case 'answer_prompt':
      setTimeout(() => show({ prompts: shown.prompts.filter((one) => one.id !== command.id) }), 100);
      return { reply: 'done' };
    case 'deny_prompts':
      show({ prompts: [] });
      return { reply: 'done' };
    case 'activity_page':
      return page(log, command);
    case 'audit_record':
      return record(log, command.seq);
    case 'audit_verify':
      await new Promise((done) => setTimeout(done, 300));
      return asked.has('broken')
        ? { reply: 'verified', report: { sound: false, files: 3, records: log.length, findings: [{ label: 'hmac_mismatch', value: 'audit.log, line 1204' }, { label: 'sequence_gap', value: 'audit.log, line 1205: record 1206 is missing' }] } }
        : { reply: 'verified', report: { sound: true, files: 3, records: log.length, findings: [] } };
    case 'set_raised':
      show({ raised: command.raised });
      return { reply: 'done' };
    case 'undo_list':
      return { reply: 'undo', entries: [] };
    default:
      return { reply: 'done' };
  }
}

const rate = Number(asked.get('rate') ?? 0);
if (rate > 0) {
  setInterval(() => {
    log.push(...acts(rate / 20, log.length));
    show({ activity: log.slice(-50).reverse(), audit: { ...shown.audit, records: log.length, bytes: log.length * 400 } });
  }, 50);
}
