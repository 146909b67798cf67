/** The plain words of a question, composed by key from what it is about, so that they come in the person's language. */
import type { ChatView, PromptView } from '../generated/types';
import { host } from '../lib/headline';
import { named, t } from '../lib/text';

/** Characters of a name in a sentence. The whole path stands below it. */
const NAME_CHARS = 48;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Returns the first detail of a label. */
export const detail = (prompt: PromptView, label: string): string | undefined =>
  prompt.details.find((one) => one.label === label)?.value;

/** The last part of a path, short enough for a sentence, and kept from turning the sentence around it. */
export function name(path: string): string {
  const separator = /^([A-Za-z]:\\|\\\\[^u])/.test(path) ? '\\' : '/';
  const last = path.split(separator).filter((one) => one !== '').at(-1) ?? path;
  const letters = [...last];
  const half = (NAME_CHARS - 1) / 2;
  const short = letters.length > NAME_CHARS ? `${letters.slice(0, Math.ceil(half)).join('')}…${letters.slice(-Math.floor(half)).join('')}` : last;
  return RIGHT_TO_LEFT.test(short) ? `\u2068${short}\u2069` : short;
}

/** The question in one sentence. The engine's own English one where no words are known for the operation. */
export function question(prompt: PromptView, chat: ChatView | undefined): string {
  const key = `prompt.ask.${kind(prompt, chat)}`;
  const path = detail(prompt, 'path') ?? '';
  const folder = prompt.folder ?? detail(prompt, 'working folder') ?? chat?.folder ?? '';
  return named(key, prompt.summary, { name: name(path), to: name(detail(prompt, 'to') ?? ''), folder: name(folder) });
}

function kind(prompt: PromptView, chat: ChatView | undefined): string {
  switch (prompt.operation) {
    case 'EXECUTE_COMMAND':
      return (detail(prompt, 'working folder') ?? chat?.folder) ? 'EXECUTE_COMMAND' : 'EXECUTE_COMMAND.nowhere';
    case 'FILE_WRITE':
      return prompt.diff ? 'FILE_WRITE.over' : 'FILE_WRITE';
    case 'FILE_DELETE':
      return detail(prompt, 'with everything inside') ? 'FILE_DELETE.all' : 'FILE_DELETE';
    case 'ATTACH_SESSION':
      return prompt.folder ? 'ATTACH_SESSION' : 'ATTACH_SESSION.nowhere';
    default:
      return prompt.operation;
  }
}

/** Who asks: the platform, and the chat by its folder or its number. */
export function asker(prompt: PromptView, chat: ChatView | undefined): string {
  const platform = host(prompt.platform);
  if (chat) return t('prompt.by_folder', { platform, folder: name(chat.folder) });
  if (prompt.session_id) return t('prompt.by_chat', { platform, id: prompt.session_id });
  return t('prompt.by', { platform });
}

/** The name of a fact; as the engine calls it where there is no word for it. */
export const label = (raw: string): string => named(`prompt.detail.${raw}`, raw);
