/** The texts in English. */
import { account } from './account';
import { activity } from './activity';
import { app } from './app';
import { chats } from './chats';
import { errors } from './errors';
import { firstrun } from './firstrun';
import { powers } from './powers';
import { prompt } from './prompt';
import { rules } from './rules';
import { settings } from './settings';
import { undo } from './undo';

export const en = { ...account, ...activity, ...app, ...chats, ...errors, ...firstrun, ...powers, ...prompt, ...rules, ...settings, ...undo } as const;

export type Key = keyof typeof en;
