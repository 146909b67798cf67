/** The texts in German. */
import type { Key } from '../en';
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

export const de = { ...account, ...activity, ...app, ...chats, ...errors, ...firstrun, ...powers, ...prompt, ...rules, ...settings, ...undo } satisfies Record<Key, string>;
