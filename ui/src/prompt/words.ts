/** The plain words of a question, composed by key from what it is about, so that they come in the person's language. */
import type { ChatView, PromptView } from '../generated/types';
import { host } from '../lib/headline';
import { parts } from '../lib/paths';
import { named, t } from '../lib/text';
import { fact } from './facts';

/** Characters of a name in a sentence. The whole path stands below it. */
const NAME_CHARS = 48;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The last part of a path, short enough for a sentence, and kept from turning the sentence around it. */
export function nameOf(path: string): string {
  const letters = [...parts(path).name];
  const half = (NAME_CHARS - 1) / 2;
  const short = letters.length > NAME_CHARS ? `${letters.slice(0, Math.ceil(half)).join('')}…${letters.slice(-Math.floor(half)).join('')}` : letters.join('');
  return RIGHT_TO_LEFT.test(short) ? `\u2066${short}\u2069` : short;
}

/** The question in one sentence. The engine's own English one where no words are known for the operation. */
export function question(prompt: PromptView, chat: ChatView | undefined): string {
  const folder = prompt.folder ?? fact(prompt, 'working_folder') ?? chat?.folder ?? '';
  return named(`prompt.ask.${kind(prompt, folder)}`, prompt.summary, {
    name: nameOf(fact(prompt, 'path') ?? ''),
    to: nameOf(fact(prompt, 'to') ?? ''),
    folder: nameOf(folder),
  });
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
    case 'FILE_MOVE':
      return fact(prompt, 'replaces') ? 'FILE_MOVE.over' : 'FILE_MOVE';
    default:
      return prompt.operation;
  }
}

/** Who asks: the platform, and the chat by its folder or its number. */
export function asker(prompt: PromptView, chat: ChatView | undefined): string {
  const platform = host(prompt.platform);
  if (chat) return t('prompt.by_folder', { platform, folder: nameOf(chat.folder) });
  if (prompt.session_id) return t('prompt.by_chat', { platform, id: nameOf(prompt.session_id) });
  return t('prompt.by', { platform });
}
