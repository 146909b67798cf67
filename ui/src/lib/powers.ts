/** Which mode a power has, for all and for one chat. Shows what the engine decides; decides nothing. */
import type { ChatView, PowerView, Snapshot } from '../generated/types';

export const MODES = ['off', 'ask_each_time', 'ask_once_per_chat', 'allowed'] as const;
export const NETWORKS = ['none', 'loopback', 'all'] as const;

/** The mode set for one chat alone, if any. */
export const override = (chat: ChatView, power: string): string | null => chat.modes.find((one) => one.power === power)?.mode ?? null;

/** What holds for a chat. A power that is off stays off, whatever a chat says. */
export function modeFor(power: PowerView, chat: ChatView): string {
  if (!power.built || power.locked_by !== null || power.mode === 'off') return 'off';
  return override(chat, power.power) ?? power.mode;
}

/** Chats in which a power has a mode of its own that changes something. */
export const differing = (shown: Snapshot, power: PowerView): ChatView[] =>
  shown.chats.filter((chat) => !chat.revoked && power.mode !== 'off' && override(chat, power.power) !== null && override(chat, power.power) !== power.mode);

/** Powers that can differ by chat: built ones that work inside a chat. */
export const perChat = (shown: Snapshot): PowerView[] => shown.powers.filter((power) => power.built && power.power !== 'attach');

/** Powers that an agent can use now, with or without a question. */
export const usable = (shown: Snapshot): PowerView[] => perChat(shown).filter((power) => power.locked_by === null && power.mode !== 'off');
