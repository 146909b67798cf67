/** The plain words of a question, composed by key from what it is about, so that they come in the person's language. */
import type { ChatView, PromptView } from '../generated/types';
import { host } from '../lib/headline';
import { parts } from '../lib/paths';
import { named, t } from '../lib/text';
import { fact } from './facts';

/** Characters of a name in a sentence. The whole path stands below it. */
const NAME_CHARS = 48;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The last part of a path, short enough for a sentence. */
export const nameOf = (path: string): string => short(parts(path).name);

/** A name that fits into a sentence and cannot turn the sentence around it. */
function short(name: string): string {
  const letters = [...name];
  const half = (NAME_CHARS - 1) / 2;
  const cut = letters.length > NAME_CHARS ? `${letters.slice(0, Math.ceil(half)).join('')}…${letters.slice(-Math.floor(half)).join('')}` : letters.join('');
  return RIGHT_TO_LEFT.test(cut) ? `\u2066${cut}\u2069` : cut;
}

/** The question in one sentence. The engine's own English one where no words are known for the operation. */
export function question(prompt: PromptView, chat: ChatView | undefined): string {
  const folder = prompt.folder ?? fact(prompt, 'working_folder') ?? chat?.folder ?? '';
  return named(`prompt.ask.${kind(prompt, folder)}`, prompt.summary, {
    name: nameOf(fact(prompt, 'path') ?? ''),
    to: nameOf(fact(prompt, 'to') ?? ''),
    folder: nameOf(folder),
    app: nameOf(app(prompt)),
    keys: nameOf(fact(prompt, 'keys') ?? ''),
    model: short(fact(prompt, 'model') ?? ''),
    device: short(fact(prompt, 'device') ?? ''),
  });
}

/** The app whose window is there, or that would be started: by the name that a person knows, if there is one. */
const app = (prompt: PromptView): string => fact(prompt, 'app') ?? fact(prompt, 'app_name') ?? fact(prompt, 'app_id') ?? fact(prompt, 'program') ?? '';

/** Uses of mouse and keyboard that read alike. */
const ALIKE: Record<string, string> = {
  left_click: 'click', right_click: 'click', middle_click: 'click', double_click: 'click', triple_click: 'click', mouse_down: 'click', mouse_up: 'click',
  mouse_move: 'move', drag: 'drag', type: 'type', key: 'key', hold_key: 'key', scroll: 'scroll',
};

function input(prompt: PromptView): string {
  const alike = ALIKE[fact(prompt, 'action') ?? ''];
  if (alike === undefined) return 'INPUT_ACTION';
  return `INPUT_ACTION.${alike}${app(prompt) === '' || alike === 'move' ? '.nowhere' : ''}`;
}

/** The name of the operation, and what makes it another question. */
function kind(prompt: PromptView, folder: string): string {
  const what = fact(prompt, 'kind');
  switch (prompt.operation) {
    case 'EXECUTE_COMMAND':
    case 'ATTACH_SESSION':
    case 'ACTIVATE_SESSION':
    case 'RESTORE_SESSION':
      return folder === '' ? `${prompt.operation}.nowhere` : prompt.operation;
    case 'FILE_WRITE':
      return what === 'missing' ? 'FILE_WRITE.new' : what === 'file' ? 'FILE_WRITE.over' : 'FILE_WRITE';
    case 'FILE_DELETE':
      return fact(prompt, 'recursive') ? 'FILE_DELETE.all' : what === 'folder' ? 'FILE_DELETE.folder' : 'FILE_DELETE';
    case 'SCREENSHOT_REQUEST':
      return fact(prompt, 'window') ? 'SCREENSHOT_REQUEST.window' : 'SCREENSHOT_REQUEST';
    case 'INPUT_ACTION':
      return input(prompt);
    case 'APP_LAUNCH':
      return app(prompt) === '' ? 'APP_LAUNCH' : 'APP_LAUNCH.named';
    case 'CLIPBOARD_READ':
      return fact(prompt, 'clipboard') === 'foreign' ? 'CLIPBOARD_READ.foreign' : 'CLIPBOARD_READ';
    case 'LOCAL_LLM_COMPLETION':
      return prompt.session_id === null ? 'LOCAL_LLM_COMPLETION.own' : prompt.operation;
    case 'FILE_MOVE':
      return fact(prompt, 'replaces') ? 'FILE_MOVE.over' : 'FILE_MOVE';
    default:
      return prompt.operation;
  }
}

/** Who asks: the platform, and the chat by its folder or its number. What no chat asks comes from the person or their own programs. */
export function asker(prompt: PromptView, chat: ChatView | undefined): string {
  const platform = host(prompt.platform);
  if (chat) return t('prompt.by_folder', { platform, folder: nameOf(chat.folder) });
  if (prompt.session_id) return t('prompt.by_chat', { platform, id: nameOf(prompt.session_id) });
  if (prompt.power === 'local_model') return t('prompt.by_own');
  if (prompt.power === 'hardware') return t('prompt.by_program');
  return t('prompt.by', { platform });
}
