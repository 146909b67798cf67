// A stand-in for the desktop shell, for looking at the pages in any browser. Never part of the program.
// /dev/pages.html?page=powers&lang=de&theme=dark&scene=empty&first=1
import { asked, devices, foundServers, models } from './desk.ts';

const query = new URLSearchParams(location.search);
const now = Date.now();
const MIN = 60_000;
const scene = query.get('scene') ?? 'full';

const power = (name, mode, built = true, more = {}) => ({ power: name, mode, locked_by: null, built, running: 0, ...more });
const chat = (id, folder, more = {}) => ({
  session_id: id, folder, revision: 1, active: true, link: 'connected', in_flight: 0, requests: 12, revoked: false,
  last_used_ms: now - 3 * MIN, attached: true, attached_ms: now - 190 * MIN, last_operation: 'FILE_READ',
  changes: { created: 0, written: 0, moved: 0, deleted: 0 }, powers_used: ['files'], modes: [], privacy: { on: false, own: null, open_elsewhere: [], asked: [] }, ...more,
});
const why = { decision: 'allow', rule: 'mode', power: 'files', mode: 'allowed', by: null, text: 'the power files is set to allowed' };
const act = (number, session_id, operation, subject, error_code = null) => ({
  number, at_ms: now - number * 41_000, session_id, operation, subject, ok: error_code === null, error_code, duration_ms: 4, why, seq: 100 - number,
});

const home = '/home/ada';
const snapshot = {
  version: '0.1.0', raised: false, trouble: null, notices: [],
  account: { state: 'signed_in', id: 'default', platform_url: 'https://platform.agpt.co', authorize_url: null, problem: null },
  link: { state: 'connected', reason: null },
  chats: [
    chat('0b7c2f9e-quarterly', `${home}/Documents/Quarterly report`, { in_flight: 1, changes: { created: 3, written: 2, moved: 1, deleted: 1 }, powers_used: ['files', 'shell'] }),
    chat('77aa10d2-garden', `${home}/garden`, { active: false, link: 'off', requests: 1, modes: [{ power: 'shell', mode: 'off' }], last_used_ms: now - 26 * 60 * MIN, attached_ms: now - 50 * 60 * MIN }),
    chat('f00d4e11-photos', '/media/ada/archive/A very long folder name with many words that has to break somewhere 2026-11', { active: false, link: 'off', revoked: true, requests: 1480, powers_used: [], last_used_ms: now - 9 * 24 * 60 * MIN, attached_ms: now - 10 * 24 * 60 * MIN }),
  ],
  powers: [
    power('files', 'allowed', true, { running: 1 }), power('attach', 'ask_each_time'), power('shell', 'ask_each_time'),
    power('computer_use', 'off'), power('clipboard', 'off'), power('local_model', 'ask_once_per_chat'), power('hardware', 'ask_each_time'),
  ],
  shell: { mode: 'confined', network: 'none', confinement_missing: null },
  prompts: [],
  activity: [
    act(1, '0b7c2f9e-quarterly', 'FILE_WRITE', `${home}/Documents/Quarterly report/summary.md`),
    act(2, '0b7c2f9e-quarterly', 'FILE_READ', '/etc/shadow', 'PATH_OUTSIDE_ALLOWED_ROOT'),
    act(3, '0b7c2f9e-quarterly', 'EXECUTE_COMMAND', 'python3'),
    act(4, '77aa10d2-garden', 'FILE_READ', `${home}/garden/notes.md`),
  ],
  audit: { path: `${home}/.local/state/drawbridge/audit.log`, bytes: 482_113, records: 1943, unavailable: false },
  tray: 'shown',
  rules: [
    { id: 'r1', kind: 'command', session_id: null, folder: null, power: 'shell', program: '/usr/bin/git', words: ['log', '--oneline', '*'], any_more: true, origin: 'answered', at_ms: now - 80 * MIN },
    { id: 'r2', kind: 'chat_power', session_id: '0b7c2f9e-quarterly', folder: `${home}/Documents/Quarterly report`, power: 'shell', program: null, words: [], any_more: false, origin: 'answered', at_ms: now - 5 * MIN },
  ],
  offered_folder: null, browse_roots: [], last_raise: null, window_wanted: 0,
  screen: { seat: 'x11', features: ['screenshot', 'input', 'clipboard'], missing: [], only_apps: null, never_apps: [], full_resolution: false, clipboard_foreign: false, in_use: null }, models, devices,
  gate: null, managed: null, secrets: { place: 'keychain', movable_to: 'file' },
  accounts: [{ id: 'default', name: 'platform.agpt.co', platform_url: 'https://platform.agpt.co', client_id: 'autogpt-local-executor', active: true, signed_in: true, fixed: true }],
};
// ?scene=desk_off: both powers off. desk_none: nothing there. private: a private chat.
if (scene === 'desk_off' || scene === 'desk_none') snapshot.powers.filter((one) => ['local_model', 'hardware'].includes(one.power)).forEach((one) => (one.mode = scene === 'desk_off' ? 'off' : 'allowed'));
if (scene === 'desk_none') Object.assign(snapshot, { models: { ...models, uses: [], servers: [{ ...models.servers[0], models: [], name: null, api: 'auto', answers: false, running: 0, trouble: 'Nobody answers at 127.0.0.1:11434. Start the model server, then ask again.' }] }, devices: { devices: [], looked: false } });
if (scene === 'private') { snapshot.chats[0].privacy = { on: true, own: true, open_elsewhere: [], asked }; snapshot.models = { ...models, servers: models.servers.slice(0, 2) }; }
if (scene === 'empty') Object.assign(snapshot, { chats: [], rules: [], activity: [] });
if (scene === 'signed_out') Object.assign(snapshot, { chats: [], rules: [], activity: [], account: { ...snapshot.account, state: 'signed_out' }, link: { state: 'off', reason: null } });
const kept = (id, name, more = {}) => ({ id, name, platform_url: `https://${id}.example`, client_id: 'autogpt-local-executor', active: false, signed_in: false, fixed: false, ...more });
if (['accounts', 'expired', 'refused', 'elsewhere', 'fixed'].includes(scene)) snapshot.accounts.push(kept('work', 'Work', { signed_in: true, client_id: 'desk-7' }), kept('home-lab', 'Home lab'));
if (scene === 'expired' || scene === 'refused') Object.assign(snapshot, { account: { ...snapshot.account, state: scene, problem: 'In the words of the engine.', problem_code: scene === 'expired' ? 'sign_in_expired' : 'sign_in_cut_off' }, link: { state: 'halted', reason: null } });
if (scene === 'elsewhere') Object.assign(snapshot, { account: { ...snapshot.account, state: 'signed_out', problem: 'In the words of the engine.', problem_code: 'other_platform', kept_for: 'https://other.example' }, link: { state: 'off', reason: null } });
if (scene === 'fixed') snapshot.accounts_fixed = 'run';
if (scene === 'signing_in') Object.assign(snapshot, { chats: [], account: { ...snapshot.account, state: 'signing_in', authorize_url: 'https://platform.agpt.co/authorize?client_id=autogpt-local-executor&state=4c1f0a&code_challenge=9bX2&scope=local' } });
if (scene === 'raised') Object.assign(snapshot, { raised: true, last_raise: { at_ms: now, stored_ms: 3, ended_ms: 84 }, chats: snapshot.chats.map((one) => ({ ...one, active: false, in_flight: 0, link: 'off' })) });
if (scene === 'trouble') {
  Object.assign(snapshot, {
    trouble: { code: 'settings_broken', message: 'The stored settings cannot be read.' }, tray: 'none', prompts: [{}, {}],
    audit: { ...snapshot.audit, unavailable: true }, link: { state: 'waiting', code: 'unreachable', reason: 'The platform cannot be reached: platform.agpt.co:443 cannot be reached (TCP): nobody listens there.' },
    browse_roots: [`${home}/Documents`, '/media/ada/archive'], offered_folder: `${home}/Documents/Taxes 2026`,
    shell: { mode: 'full', network: 'all', confinement_missing: null },
  });
  snapshot.powers[0].locked_by = 'config.toml';
}
if (scene === 'managed') {
  const by = 'Example Ltd';
  Object.assign(snapshot, {
    managed: { organisation: by, path: '/etc/drawbridge/policy.toml', overruled: ['shell.network'], locked: ['powers.files', 'powers.shell', 'powers.clipboard', 'shell.network', 'browse.roots', 'limits.max_concurrent', 'proxy.url', 'updates.channel'] },
    shell: { ...snapshot.shell, ceiling: { by, confined_only: true, network: 'loopback' } }, browse_roots: ['/srv/work'],
  });
  Object.assign(snapshot.powers[0], { mode: 'off', locked_by: by });
  Object.assign(snapshot.powers[2], { ceiling: { mode: 'ask_each_time', by } });
}

// ?scene=gate_passphrase_wanted|gate_keychain_locked|gate_no_keychain|gate_broken_file|gate_other, ?busy=1, ?problem=…
if (scene.startsWith('gate_')) {
  const kind = scene.slice(5);
  snapshot.gate = {
    kind, busy: query.has('busy'), problem: query.get('problem'), problem_code: null,
    path: { passphrase_wanted: `${home}/.local/state/drawbridge/secrets.enc`, broken_file: `${home}/.local/state/drawbridge/bindings.json` }[kind] ?? null,
    message: {
      no_keychain: 'The keychain does not answer: org.freedesktop.secrets is not provided by any service.',
      broken_file: 'The list of folders cannot be read: line 1 breaks off.', other: 'Another Drawbridge already uses this state folder (process 4711). Quit it first.',
    }[kind] ?? 'In the words of the engine.',
    can_make_file: kind === 'no_keychain', can_set_aside: ['passphrase_wanted', 'keychain_locked', 'broken_file'].includes(kind), can_ask_keychain: kind === 'keychain_locked',
  };
}

let prefs = {
  theme: query.get('theme') ?? 'system', language: query.get('lang') ?? 'en', zoom: Number(query.get('zoom') ?? 100),
  first_run: query.has('first') ? Number(query.get('first')) : 4, hot_key: true, notifications: true, size: null, plain_drawing: false, practice: false, update_channel: 'stable', check_updates: true,
};
const undo = (number, kind, path, more = {}) => ({ number, at_ms: now - number * 7 * MIN, session_id: '0b7c2f9e-quarterly', kind, path: `${home}/Documents/Quarterly report/${path}`, moved_to: null, bytes: 2048 * number, restored: false, ...more });
let changes = [
  undo(7, 'write', 'summary.md'), undo(6, 'create', 'charts/revenue.svg', { bytes: 0 }), undo(5, 'move', 'draft.txt', { moved_to: `${home}/Documents/Quarterly report/old/draft.txt`, bytes: 0 }),
  undo(4, 'delete', 'notes (copy).txt'), undo(3, 'write', 'figures.csv', { restored: true }),
];

const finding = (check, state, key, params = {}, action = null) => ({ check, state, key, params, action, text: key, fix: state === 'warn' || state === 'fail' ? key : null });
const found = scene === 'empty' ? [finding('engine', 'ok', 'engine_running')] : [
  finding('engine', 'ok', 'engine_running'), finding('state_folder', 'ok', 'folder_fine', { path: `${home}/.local/state/drawbridge` }),
  finding('config', 'info', 'config_absent', { file: `${home}/.config/drawbridge/config.toml` }), finding('disk_space', 'warn', 'disk_low', { free: '143 MB', path: `${home}/.local/state/drawbridge` }, 'open_state_folder'),
  finding('settings', 'warn', 'settings_raised', {}, 'lower'), finding('start_at_login', 'info', 'login_off', {}, 'login_start_on'),
  finding('secrets', 'ok', 'secrets_keychain'), finding('sign_in', 'fail', 'sign_in_expired', {}, 'sign_in'), finding('audit_log', 'ok', 'audit_sound_all', { records: '1943', files: '2' }),
  finding('platform', 'info', 'platform_named', { url: 'https://platform.agpt.co' }), finding('network', 'ok', 'network_dns_ok', { said: '2 addresses, the first one is 192.0.2.7.' }),
  { ...finding('network', 'fail', 'network_tls_wrong', { said: 'The certificate of platform.agpt.co was issued by ACME Proxy Root, which this computer does not trust.' }), fix: 'Name the file with that root as extra_roots under [tls] in the configuration.' },
  finding('sign_in_ports', 'ok', 'ports_free', { free: '12' }), finding('browse_roots', 'ok', 'browse_usual'),
  finding('bubblewrap', 'warn', 'bubblewrap_install', { command: 'sudo apt install bubblewrap' }, 'copy_install_bubblewrap'), finding('name_spaces', 'info', 'name_spaces_untried'),
  finding('landlock', 'ok', 'landlock_fine'), finding('confinement', 'warn', 'confinement_missing'), finding('shells', 'ok', 'shells_found', { names: 'bash, sh, zsh' }),
  finding('permissions', 'info', 'permissions_none'), finding('display', 'info', 'display_wayland_x11'), finding('tray', 'ok', 'tray_there'), finding('notifications', 'ok', 'notifications_there'),
  finding('hot_key', 'info', 'hot_key_not_here'), finding('browser', 'ok', 'browser_found'), finding('elevation', 'ok', 'elevation_ordinary'),
];

const loginState = query.get('login') ?? 'on';
let login = {
  on: loginState === 'on', available: !['practice', 'unknown'].includes(loginState), place: `${home}/.config/autostart/drawbridge.desktop`, state: loginState,
  problem: loginState === 'unknown' ? 'there is no program drawbridge-desktop, neither beside this one nor in PATH; install it and try again' : null,
  program: ['elsewhere', 'gone'].includes(loginState) ? `${home}/Downloads/Drawbridge (1).AppImage` : null,
};
const diagnostics = [
  'Drawbridge: 0.1.0, installed as: deb', 'System: Debian GNU/Linux 12 (bookworm), linux, x86_64', 'Desktop: GNOME, wayland', 'Web view: 2.48.1', 'Running: for 3 h 12 min',
  'Account: signed in at the usual platform', 'Link: connected', 'Chats: 3, of them 1 active and 1 taken back', '', 'Check-up', 'ok    state_folder: <state folder> is private.',
  ...Array.from({ length: 30 }, (_, n) => `2026-11-30T11:45:${String(n + 10)}.123456Z  INFO drawbridge_engine::link: could not connect step=tcp`),
].join('\n');

// ?updates=found|current|downloading|failed|link|managed|unknown
const updateState = query.get('updates') ?? 'idle';
const newer = ['found', 'downloading', 'failed', 'link'].includes(updateState);
let update = {
  installed_as: updateState === 'link' ? 'deb' : 'appimage', way: ['link', 'managed'].includes(updateState) ? updateState : 'own', channel: 'stable', can_check: updateState !== 'unknown', has_page: updateState !== 'unknown',
  state: { link: 'found', managed: 'idle', unknown: 'idle' }[updateState] ?? updateState, version: newer ? '0.2.0' : null, percent: updateState === 'downloading' ? 42 : null,
  notes: newer ? 'A question shows its whole command.\nThe tray tells what a chat is doing.\nFixed: a window that stayed blank on some graphics.' : null,
  problem_code: updateState === 'failed' ? 'bad_signature' : null,
  problem: updateState === 'failed' ? 'The download is not signed by whoever makes Drawbridge (its signature does not fit), so it was thrown away; do not install it by hand. Nothing was changed, and this version goes on.' : null,
};

const answer = 'A drawbridge is a bridge that can be raised.\n\nWhoever lives behind it decides who crosses: while it is up, nobody does, and while it is down, the guard looks at each who comes. '.repeat(4).trim();
let tried = { at: now, stopped: null };
function trial() {
  const ran = (tried.stopped ?? Date.now()) - tried.at;
  const text = answer.slice(0, Math.floor(ran / 8));
  const done = text.length === answer.length;
  return { text, state: tried.stopped ? 'stopped' : done ? 'done' : 'running', problem: null, finish: done ? 'stop' : null, tokens: done ? 138 : null, duration_ms: done ? answer.length * 8 : ran };
}

const handlers = { snapshot: [], prefs: [] };
const callbacks = new Map();
let next = 1;
const tell = (name, payload) => handlers[name]?.forEach((id) => callbacks.get(id)?.({ event: name, id: 0, payload }));
const calls = {
  snapshot: () => snapshot,
  desktop: () => ({ tray: snapshot.tray !== 'none', hot_key: 'Ctrl+Alt+Shift+B', language: 'en', home }),
  prefs: () => prefs,
  set_prefs: ({ prefs: wanted }) => { prefs = wanted; tell('prefs', prefs); },
  doctor: () => new Promise((done) => setTimeout(() => done(found), 400)),
  // ?login=off|elsewhere|gone|disabled|foreign|practice|unknown
  login_start: () => login,
  set_login_start: ({ on }) => (login = { ...login, on, state: on ? 'on' : 'off', program: null }),
  diagnostics: () => new Promise((done) => setTimeout(() => done(diagnostics), 300)),
  updates: () => update,
  check_updates: () => new Promise((done) => setTimeout(() => done((update = { ...update, state: newer ? 'found' : 'current' })), 600)),
  install_update: () => { update = { ...update, state: 'downloading', percent: 7 }; },
  offer_folder: () => { snapshot.offered_folder = `${home}/Documents/Taxes 2026`; tell('snapshot', { ...snapshot }); return true; },
  send: ({ command }) => {
    switch (command.command) {
      case 'undo_list': return { reply: 'undo', entries: changes.filter((one) => command.session_id === null || one.session_id === command.session_id) };
      case 'undo_restore': changes = changes.map((one) => (command.numbers.includes(one.number) ? { ...one, restored: true } : one)); return { reply: 'restored', count: 1, failed: [] };
      case 'undo_restore_chat': changes = changes.map((one) => ({ ...one, restored: one.kind !== 'move' })); return { reply: 'restored', count: 3, failed: [{ label: changes[2].path, value: 'another file is there now' }] };
      case 'audit_verify': return { reply: 'verified', report: { sound: true, files: 2, records: 1943, findings: [] } };
      case 'audit_rotate': return { reply: 'rotated', path: `${home}/.local/state/drawbridge/audit-20261130.log` };
      case 'activity_page': return { reply: 'activity', rows: snapshot.activity, total: snapshot.activity.length };
      case 'set_raised': Object.assign(snapshot, { raised: command.raised, last_raise: { at_ms: now, stored_ms: 3, ended_ms: 84 } }); break;
      case 'set_power': snapshot.powers = snapshot.powers.map((one) => (one.power === command.power ? { ...one, mode: command.mode } : one)); break;
      case 'set_shell': snapshot.shell = { ...snapshot.shell, mode: command.mode, network: command.network }; break;
      case 'find_model_servers': return new Promise((done) => setTimeout(() => done({ reply: 'model_servers', servers: foundServers }), 300));
      case 'add_model_server':
        if (command.url.includes('bad')) throw { code: 'bad_model_server', message: 'That is no address of a server.' };
        snapshot.models = { ...snapshot.models, servers: [...snapshot.models.servers, { ...foundServers[1], ...command, name: null, answers: false }] };
        break;
      case 'set_model_key':
        if (command.key !== null && /\s/.test(command.key.trim())) throw { code: 'bad_key', message: 'That is no key.' };
        snapshot.models = { ...snapshot.models, servers: snapshot.models.servers.map((one) => (one.url === command.url ? { ...one, has_key: command.key !== null } : one)) };
        break;
      case 'remove_model_server': snapshot.models = { ...snapshot.models, servers: snapshot.models.servers.filter((one) => one.url !== command.url) }; break;
      case 'try_model': tried = { at: Date.now(), stopped: null }; return { reply: 'trial', id: 1 };
      case 'stop_trial': tried.stopped ??= Date.now(); return { reply: 'done' };
      case 'trial_text': return { reply: 'trial_text', trial: trial() };
      case 'set_privacy':
        if (command.session_id === null) snapshot.models = { ...snapshot.models, private_all: command.on };
        else snapshot.chats = snapshot.chats.map((one) => (one.session_id === command.session_id ? { ...one, privacy: { ...one.privacy, own: command.on } } : one));
        snapshot.chats = snapshot.chats.map((one) => ({ ...one, privacy: { ...one.privacy, on: one.privacy.own ?? snapshot.models.private_all } }));
        break;
      case 'set_privacy_review': snapshot.models = { ...snapshot.models, review: command.on }; break;
      case 'set_chat_power': snapshot.chats = snapshot.chats.map((one) => (one.session_id === command.session_id ? { ...one, modes: [...one.modes.filter((mode) => mode.power !== command.power), { power: command.power, mode: command.mode }] } : one)); break;
      case 'look_at_devices': snapshot.devices = { ...snapshot.devices, looked: true }; break;
      case 'share_device': snapshot.devices = { ...snapshot.devices, devices: snapshot.devices.devices.map((one) => (one.id === command.id ? { ...one, shared: command.shared } : one)) }; break;
      case 'add_port': throw { code: 'not_a_port', message: `${command.path} is no serial port: it is a plain file. Name a device such as /dev/pts/7.` };
      case 'remove_port': snapshot.devices = { ...snapshot.devices, devices: snapshot.devices.devices.filter((one) => one.added !== command.path) }; break;
      case 'offer_folder': snapshot.offered_folder = null; break;
      case 'remove_rule': snapshot.rules = snapshot.rules.filter((one) => one.id !== command.id); break;
      case 'set_rule': throw { code: 'rule_too_wide', message: 'A rule may not let an interpreter run anything.' };
    }
    tell('snapshot', { ...snapshot });
    return { reply: 'done' };
  },
  'plugin:event|listen': ({ event, handler }) => { (handlers[event] ??= []).push(handler); return handler; },
  'plugin:event|unlisten': () => undefined,
};
window.__TAURI_INTERNALS__ = {
  transformCallback: (callback) => { callbacks.set(next, callback); return next++; },
  unregisterCallback: (id) => callbacks.delete(id),
  invoke: async (name, payload) => (calls[name] ?? (() => undefined))(payload ?? {}),
};
window.__TAURI_EVENT_PLUGIN_INTERNALS__ = { unregisterListener: () => undefined };
// Clicks given in the address, one after the other: &click=%23nav-powers,%23shell-full
addEventListener('load', () => {
  const clicks = [...(query.has('page') ? [`#nav-${query.get('page')}`] : []), ...(query.get('click') ?? '').split(';').filter(Boolean)];
  const step = () => {
    const found = clicks[0] && document.querySelector(clicks[0]);
    if (found) { clicks.shift(); found.click(); }
    if (clicks.length > 0) setTimeout(step, 60);
    else if (query.has('down')) setTimeout(() => scrollTo(0, Number(query.get('down'))), 60);
  };
  step();
});
