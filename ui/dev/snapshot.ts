/** A picture of a normal working day. */
import type { Snapshot } from '../src/generated/types';
import { devices, models } from './desk';

const hour = 3600_000;
const now = Date.now();
export const snapshot: Snapshot = {
  version: '0.1.0',
  raised: false,
  trouble: null,
  account: { state: 'signed_in', id: 'default', platform_url: 'wss://platform.example', authorize_url: null, problem: null },
  link: { state: 'connected', reason: null },
  chats: [
    { session_id: 'c-1', folder: '/home/ada/Documents/Quarterly report', revision: 1, active: true, link: 'connected', in_flight: 1, requests: 214, revoked: false, last_used_ms: now - 20_000, attached: true, attached_ms: now - 3 * hour, last_operation: 'FILE_WRITE', changes: { created: 2, written: 5, moved: 0, deleted: 1 }, powers_used: ['files', 'shell'], modes: [], privacy: { on: false, own: null, open_elsewhere: [], asked: [] } },
    { session_id: 'c-2', folder: '/home/ada/Code/weather', revision: 3, active: false, link: 'off', in_flight: 0, requests: 37, revoked: false, last_used_ms: now - 20 * hour, attached: true, attached_ms: now - 24 * hour, last_operation: 'FILE_READ', changes: { created: 0, written: 0, moved: 0, deleted: 0 }, powers_used: ['files'], modes: [], privacy: { on: false, own: null, open_elsewhere: [], asked: [] } },
  ],
  powers: ['files', 'attach', 'shell', 'computer_use', 'clipboard', 'local_model', 'hardware'].map((power) => ({ power, mode: power === 'files' ? 'allowed' : ['attach', 'shell'].includes(power) ? 'ask_each_time' : 'off', locked_by: null, built: true, running: 0 })),
  shell: { mode: 'confined', network: 'none', confinement_missing: null },
  prompts: [],
  activity: [],
  audit: { path: '/home/ada/.local/state/drawbridge/audit.log', bytes: 160_000, records: 400, unavailable: false },
  tray: 'shown',
  rules: [],
  offered_folder: null,
  browse_roots: [],
  last_raise: null,
  notices: [],
  window_wanted: 0,
  gate: null,
  accounts: [{ id: 'default', name: 'platform.example', platform_url: 'wss://platform.example', client_id: 'autogpt-local-executor', active: true, signed_in: true, fixed: true }],
  secrets: { place: 'keychain', movable_to: 'file' },
  managed: null,
  screen: {
    seat: 'x11',
    features: ['screenshot', 'input', 'windows', 'apps', 'permissions', 'screenshot.capture', 'screenshot.region', 'input.click', 'input.key.hold', 'window.list', 'app.list', 'clipboard.read', 'clipboard.write'],
    missing: [{ feature: 'screenshot.window', why: 'the X server has no extension for pictures of single windows' }],
    only_apps: null,
    never_apps: ['thunderbird'],
    full_resolution: false,
    clipboard_foreign: false,
    in_use: null,
  },
  models,
  devices,
};
