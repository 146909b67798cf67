/** The texts in English. */
import { account } from './account';
import { accounts } from './accounts';
import { activity } from './activity';
import { app } from './app';
import { chats } from './chats';
import { devices } from './devices';
import { doctor } from './doctor';
import { errors } from './errors';
import { firstrun } from './firstrun';
import { gate } from './gate';
import { login } from './login';
import { logs } from './logs';
import { managed } from './managed';
import { models } from './models';
import { pill } from './pill';
import { powers } from './powers';
import { privacy } from './privacy';
import { prompt } from './prompt';
import { rules } from './rules';
import { said } from './said';
import { screen } from './screen';
import { secrets } from './secrets';
import { settings } from './settings';
import { undo } from './undo';
import { updates } from './updates';

export const en = {
  ...account,
  ...accounts,
  ...activity,
  ...app,
  ...chats,
  ...devices,
  ...doctor,
  ...errors,
  ...firstrun,
  ...gate,
  ...login,
  ...logs,
  ...managed,
  ...models,
  ...pill,
  ...powers,
  ...privacy,
  ...prompt,
  ...rules,
  ...said,
  ...screen,
  ...secrets,
  ...settings,
  ...undo,
  ...updates,
} as const;

export type Key = keyof typeof en;
