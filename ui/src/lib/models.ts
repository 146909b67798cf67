/** Servers of local models, and what a private chat can still show. Shows what the engine decides; decides nothing. */
import type { ChatView, ModelServerView, ModelView, PowerView, Snapshot } from '../generated/types';
import { bytes } from './format';
import { modeFor } from './powers';
import { named, plural, t } from './text';

/** The power of a name, as long as the engine knows it. */
export const powerOf = (shown: Snapshot, name: string): PowerView | undefined => shown.powers.find((one) => one.power === name);

/** The power can be used now, by whomever. */
export const isOn = (power: PowerView | undefined): boolean => power !== undefined && power.built && power.locked_by === null && power.mode !== 'off';

/** How a server stands. Nobody asks it while the power is off; it may still be one that must not be asked. */
export function standing(server: ModelServerView, on: boolean): 'asleep' | 'refused' | 'trouble' | 'answers' | 'unasked' {
  if (server.trouble !== null) return on ? 'trouble' : 'refused';
  if (!on) return 'asleep';
  return server.answers ? 'answers' : 'unasked';
}

/** The models that can be asked, each once, in the order of the servers. */
export const askable = (shown: Snapshot): string[] => [
  ...new Set(shown.models.servers.flatMap((server) => (server.answers ? server.models.filter((model) => model.offered).map((model) => model.name) : []))),
];

/** What is known of a model beside its name: "2.0 GiB · reads 131,072 tokens". */
export function modelFacts(model: ModelView): string {
  const size = model.size_bytes === null ? '' : bytes(model.size_bytes);
  const context = model.context_tokens === null ? '' : plural('models.context', model.context_tokens);
  return [size, context].filter(Boolean).join(' · ');
}

/** What a server is called, for the middle of a sentence. */
export const serverName = (server: ModelServerView): string => server.name ?? host(server.url);

/** An address as a person types it: without a scheme, http:// is meant. */
export const withScheme = (typed: string): string => (typed === '' || typed.includes('://') ? typed : `http://${typed}`);

/** Host and port of an address; the whole of it where it is none. */
export function host(url: string): string {
  try {
    return new URL(url).host || url;
  } catch {
    return url;
  }
}

/** The address looks as if it led away from this computer. Only for asking first: the engine decides. */
export function looksFar(url: string): boolean {
  try {
    const name = new URL(url).hostname;
    return !(name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name));
  } catch {
    return false;
  }
}

/** Powers that can show contents of files in spite of privacy. */
const LEAKS = ['shell', 'computer_use', 'clipboard'] as const;

/** Those that are on in a private chat. */
export const leaks = (shown: Snapshot, chat: ChatView): string[] =>
  chat.privacy.on && !chat.revoked ? LEAKS.filter((name) => { const power = powerOf(shown, name); return power !== undefined && modeFor(power, chat) !== 'off'; }) : [];

/** Names of powers as one list in words: "Commands and Clipboard". */
export function powersInList(names: readonly string[]): string {
  const words = names.map((name) => named(`power.${name}`, name));
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : t('privacy.and', { first: words.slice(0, -1).join(', '), last });
}
