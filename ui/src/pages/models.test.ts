import { clearMocks, mockIPC } from '@tauri-apps/api/mocks';
import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Command, ModelServerView, ModelsView, PowerView, Snapshot, TrialView } from '../generated/types';
import { askable, leaks, looksFar, modelFacts, powersInList, standing, withScheme } from '../lib/models';
import { view } from '../lib/state.svelte';
import { chooseLanguage } from '../lib/text';
import { trial } from '../lib/trial.svelte';
import { snapshot } from '../../dev/snapshot';
import Models from './Models.svelte';
import Powers from './Powers.svelte';

const power = (mode: string, more: Partial<PowerView> = {}): PowerView => ({ power: 'local_model', mode, locked_by: null, built: true, running: 0, ...more });
const server = (url: string, more: Partial<ModelServerView> = {}): ModelServerView => ({
  url, api: 'ollama', name: null, from_config: false, far: false, parallel: 1, answers: true, trouble: null, models: [], running: 0, has_key: false, ...more,
});
const model = (name: string, offered = true, elsewhere = false) => ({ name, size_bytes: null, context_tokens: null, elsewhere, missing: false, offered });
const near = server('http://127.0.0.1:11434', { name: 'Ollama', models: [model('llama'), model('qwen')] });
const shown = (mode: string, more: Partial<ModelsView> = {}, rest: Partial<Snapshot> = {}): Snapshot => ({
  ...snapshot, chats: snapshot.chats, powers: [power(mode)], models: { servers: [near], uses: [], private_all: false, review: false, preview_bytes: 0, ...more }, ...rest,
});
const running: TrialView = { text: '', state: 'running', problem: null, finish: null, tokens: null, duration_ms: 0 };

let sent: Command[] = [];
let answer: (command: Command) => unknown;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: false, toFake: ['setTimeout', 'clearTimeout'] });
  sent = [];
  answer = () => ({ reply: 'done' });
  view.error = null;
  Object.assign(trial, { now: null, asking: false, error: null, model: '', text: '' });
  mockIPC((name, payload) => {
    if (name !== 'send') return null;
    const { command } = payload as { command: Command };
    sent.push(command);
    return answer(command);
  });
});
afterEach(() => {
  vi.useRealTimers();
  clearMocks();
  chooseLanguage('en', 'en');
});

const button = (name: string | RegExp) => screen.getByRole<HTMLButtonElement>('button', { name });
const said = (kind: Command['command']) => sent.filter((one) => one.command === kind);
/** Lets what was asked for be answered. */
const settle = () => vi.advanceTimersByTimeAsync(0);

async function type(label: string, value: string) {
  await fireEvent.input(screen.getByLabelText(label), { target: { value } });
}
async function openForm() {
  await fireEvent.click(button('Add a server…'));
  await settle();
}

it('says of a model that its server passes on that it runs elsewhere', () => {
  const servers = [server('http://127.0.0.1:11434', { models: [model('llama'), model('big', false, true), model('old', false)] })];
  render(Models, { shown: shown('allowed', { servers }) });
  expect(screen.getAllByText('Runs on another computer')).toHaveLength(1);
  expect(screen.getByText('Runs on another computer').title).toContain('--far');
  expect(screen.getAllByText('Answered by another server')).toHaveLength(1);
});

it('adds a server of this computer at once, and takes a bare address for http', async () => {
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', ' localhost:8080 ');
  await fireEvent.change(screen.getByLabelText('Kind'), { target: { value: 'openai' } });
  await type('Requests at once', '4');
  await fireEvent.click(button('Add'));
  await settle();

  expect(sent).toEqual([{ command: 'add_model_server', url: 'http://localhost:8080', api: 'openai', far: false, parallel: 4 }]);
  expect(document.activeElement).toBe(button('Add a server…'));
  expect(screen.getByText('localhost:8080 was added.')).toBeTruthy();
});

it('adds a server of another computer only after saying that prompts would leave', async () => {
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'http://box.example:11434');
  await fireEvent.click(button('Add'));
  expect(sent).toEqual([]);
  expect(screen.getByText(/Prompts would leave this computer: box\.example:11434 .* not encrypted/)).toBeTruthy();
  expect(document.activeElement).toBe(button('Do not add it'));
  await fireEvent.click(button('Do not add it'));
  await settle();
  expect([sent, screen.queryByRole('alertdialog'), document.activeElement]).toEqual([[], null, screen.getByLabelText('Address')]);

  await type('Address', 'https://box.example');
  await fireEvent.click(button('Add'));
  expect(screen.queryByText(/not encrypted/)).toBeNull();
  await fireEvent.click(button('Let prompts leave'));
  await settle();
  expect(sent).toEqual([{ command: 'add_model_server', url: 'https://box.example', api: 'auto', far: true, parallel: 1 }]);
});

it('hands a key over once, shows only that there is one, and can forget it', async () => {
  const page = render(Models, { shown: shown('allowed', { servers: [server('http://127.0.0.1:8000', { trouble: 'It wants a key.', answers: false })] }) });
  await fireEvent.click(button(/^Set an API key/));
  await settle();
  const field = screen.getByLabelText<HTMLInputElement>('API key');
  expect([field.type, document.activeElement, button('Save the key').disabled]).toEqual(['password', field, true]);
  await type('API key', 'sk-abc');
  await fireEvent.click(button('Save the key'));
  await settle();
  expect(sent).toEqual([{ command: 'set_model_key', url: 'http://127.0.0.1:8000', key: 'sk-abc' }]);
  expect(document.body.innerHTML).not.toContain('sk-abc');
  expect(screen.queryByLabelText('API key')).toBeNull();
  expect(document.activeElement).toBe(button(/^Set an API key/));

  await page.rerender({ shown: shown('allowed', { servers: [server('http://127.0.0.1:8000', { has_key: true })] }) });
  expect(screen.getByText('A key is set')).toBeTruthy();
  await fireEvent.click(button(/^Change the API key/));
  expect(screen.getByLabelText<HTMLInputElement>('New API key').value).toBe('');
  await fireEvent.click(button('Forget the key'));
  await settle();
  expect(sent.at(-1)).toEqual({ command: 'set_model_key', url: 'http://127.0.0.1:8000', key: null });
});

it('says why a key was refused, and keeps the field for the next try', async () => {
  answer = () => Promise.reject({ code: 'bad_key', message: 'x' });
  render(Models, { shown: shown('allowed') });
  await fireEvent.click(button(/^Set an API key/));
  await settle();
  await type('API key', 'sk two');
  await fireEvent.click(button('Save the key'));
  await settle();
  expect(screen.getByRole('alert').textContent).toContain('no API key');
  expect(document.activeElement).toBe(screen.getByLabelText('API key'));
});

it('adds a server with its key, and none with a key that would go out in the clear', async () => {
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'http://box.example:8000');
  await type('API key, if the server wants one', 'sk-abc');
  await fireEvent.click(button('Add'));
  await settle();
  expect([sent, screen.getByRole('alert').textContent]).toEqual([[], expect.stringContaining('https')]);

  await type('Address', 'localhost:8000');
  await fireEvent.click(button('Add'));
  await settle();
  expect(sent).toEqual([
    { command: 'add_model_server', url: 'http://localhost:8000', api: 'auto', far: false, parallel: 1 },
    { command: 'set_model_key', url: 'http://localhost:8000', key: 'sk-abc' },
  ]);
  expect(document.body.innerHTML).not.toContain('sk-abc');
});

it('says of a model that is listed and not there that it is missing', () => {
  const servers = [server('http://x', { models: [model('llama'), { ...model('old', false), missing: true }] })];
  render(Models, { shown: shown('allowed', { servers }) });
  expect(screen.getByText('Listed, but not there')).toBeTruthy();
  expect(screen.queryByText('Answered by another server')).toBeNull();
});

it('asks before adding what only the engine knows to be elsewhere', async () => {
  answer = (command) => (command.command === 'add_model_server' && !command.far ? Promise.reject({ code: 'far_server', message: 'x' }) : { reply: 'done' });
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'http://127.0.0.1:11434');
  await fireEvent.click(button('Add'));
  await settle();
  expect(screen.getByRole('alertdialog')).toBeTruthy();
  await fireEvent.click(button('Let prompts leave'));
  await settle();
  expect(sent.map((one) => one.command === 'add_model_server' && one.far)).toEqual([false, true]);
});

it('asks again when the address is changed after the warning', async () => {
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'https://one.example');
  await fireEvent.click(button('Add'));
  await type('Address', 'https://two.example');
  expect(screen.queryByRole('alertdialog')).toBeNull();
  expect(sent).toEqual([]);
});

it('keeps what was typed when the engine refuses it, says why and puts the focus there', async () => {
  answer = () => Promise.reject({ code: 'odd_address', message: 'This is no address of a server.' });
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'http://localhost:1/x y');
  await fireEvent.click(button('Add'));
  await settle();

  const input = screen.getByLabelText<HTMLInputElement>('Address');
  expect(input.value).toBe('http://localhost:1/x y');
  expect(input.getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByRole('alert').textContent).toBe('This is no address of a server.');
  expect(document.activeElement).toBe(input);
});

it('takes no number of requests that no server is asked with', async () => {
  render(Models, { shown: shown('allowed') });
  await openForm();
  await type('Address', 'localhost:1');
  for (const [number, fits] of [['0', false], ['17', false], ['1.5', false], ['', false], ['16', true]] as const) {
    await type('Requests at once', number);
    expect([number, button('Add').disabled]).toEqual([number, !fits]);
  }
});

it('offers found servers that are not in the list, each once', async () => {
  answer = (command) => (command.command === 'find_model_servers' ? { reply: 'model_servers', servers: [near, server('http://127.0.0.1:1234', { api: 'openai', name: 'LM Studio', parallel: 0 })] } : { reply: 'done' });
  render(Models, { shown: shown('allowed') });
  await fireEvent.click(button('Look for servers'));
  await settle();
  expect(screen.queryByRole('button', { name: 'Use it: http://127.0.0.1:11434' })).toBeNull();

  await fireEvent.click(button('Use it: http://127.0.0.1:1234'));
  await settle();
  expect(said('add_model_server')).toEqual([{ command: 'add_model_server', url: 'http://127.0.0.1:1234', api: 'openai', far: false, parallel: 1 }]);
});

it('says what to do where no model answers, and claims none of it while nobody is asked', async () => {
  const page = render(Models, { shown: shown('off', { servers: [{ ...near, answers: false, models: [] }] }) });
  expect(screen.getByText('No model is known yet')).toBeTruthy();
  await page.rerender({ shown: shown('allowed', { servers: [] }) });
  expect(screen.getByText('No local model yet')).toBeTruthy();
  expect(screen.getByText('ollama pull llama3.2:3b')).toBeTruthy();
  // The power is on: what is missing is another thing, and it is said above.
  await page.rerender({ shown: shown('allowed', { servers: [{ ...near, answers: false, models: [] }] }, { raised: true }) });
  expect(screen.getByText('The bridge is raised, so nobody asks or looks for servers.')).toBeTruthy();
  expect(screen.queryByText('No model is known yet')).toBeNull();
});

it('removes only what the configuration does not name, after asking', async () => {
  render(Models, { shown: shown('allowed', { servers: [{ ...near, from_config: true }, server('http://127.0.0.1:1234')] }) });
  expect(screen.queryByRole('button', { name: 'Remove: http://127.0.0.1:11434' })).toBeNull();
  await fireEvent.click(button('Remove: http://127.0.0.1:1234'));
  expect(sent).toEqual([]);
  await fireEvent.click(button('Remove'));
  await settle();
  expect(sent).toEqual([{ command: 'remove_model_server', url: 'http://127.0.0.1:1234' }]);
});

it('tells how a server stands: nobody asks it while the power is off', () => {
  const troubled = server('http://x', { answers: false, trouble: 'nobody listens there' });
  expect([standing(near, true), standing(troubled, true), standing(server('http://x', { answers: false }), true), standing(near, false), standing(troubled, false)]).toEqual(['answers', 'trouble', 'unasked', 'asleep', 'refused']);
  render(Models, { shown: shown('allowed', { servers: [troubled] }) });
  expect(screen.getByText('Does not answer')).toBeTruthy();
  expect(screen.getByText('Nobody listens there')).toBeTruthy();
});

it('shows a few models at first and all of them when asked', async () => {
  const many = Array.from({ length: 9 }, (_, at) => model(`model-${at}`));
  render(Models, { shown: shown('allowed', { servers: [{ ...near, models: many }] }) });
  const list = within(screen.getByRole('list', { name: 'Models of Ollama' }));
  expect(list.getAllByRole('listitem').length).toBe(6);
  await fireEvent.click(button('Show all 9'));
  expect(list.getAllByRole('listitem').length).toBe(9);
  await settle();
  expect(document.activeElement).toBe(screen.getByRole('list', { name: 'Models of Ollama' }));
});

it('asks a model, shows the answer as it comes and stops looking once it has ended', async () => {
  const steps: TrialView[] = [running, { ...running, text: 'A bridge', duration_ms: 150 }, { ...running, text: 'A bridge\nthat opens', state: 'done', finish: 'length', tokens: 5, duration_ms: 1500 }];
  answer = (command) => (command.command === 'try_model' ? { reply: 'trial', id: 7 } : { reply: 'trial_text', trial: steps.shift() });
  render(Models, { shown: shown('allowed') });
  await type('Your question', '  What is a drawbridge?  ');
  await fireEvent.change(screen.getByLabelText('Model'), { target: { value: 'qwen' } });
  await fireEvent.click(button('Ask'));
  await settle();
  expect(sent).toEqual([{ command: 'try_model', model: 'qwen', text: 'What is a drawbridge?' }]);
  expect(screen.getByText('The model reads your question…')).toBeTruthy();

  await vi.advanceTimersByTimeAsync(150);
  await vi.advanceTimersByTimeAsync(150);
  expect(screen.getByRole('group', { name: 'Answer of qwen' }).textContent).toBe('A bridge');
  await vi.advanceTimersByTimeAsync(150);
  expect(screen.getByRole('group', { name: 'Answer of qwen' }).textContent).toBe('A bridge\nthat opens');
  expect(screen.getByText('Done in 1.5 s · 5 tokens')).toBeTruthy();
  expect(screen.getByText(/reached its length limit/)).toBeTruthy();

  await vi.advanceTimersByTimeAsync(3000);
  expect(said('trial_text').length).toBe(3);
  expect(button('Ask').disabled).toBe(false);
});

it('shows an answer as text, whatever it holds', async () => {
  answer = (command) => (command.command === 'try_model' ? { reply: 'trial', id: 7 } : { reply: 'trial_text', trial: { ...running, text: '<img src=x onerror=alert(1)><b>no</b>', state: 'done' } });
  render(Models, { shown: shown('allowed') });
  await type('Your question', 'x');
  await fireEvent.click(button('Ask'));
  await settle();
  await vi.advanceTimersByTimeAsync(150);
  const box = screen.getByRole('group', { name: 'Answer of llama' });
  expect([box.textContent, box.children.length]).toEqual(['<img src=x onerror=alert(1)><b>no</b>', 0]);
});

it('looks at no answer while nobody can see the page, and goes on when somebody can', async () => {
  answer = (command) => (command.command === 'try_model' ? { reply: 'trial', id: 7 } : { reply: 'trial_text', trial: running });
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(false);
  const turn = (to: boolean) => (hidden.mockReturnValue(to), document.dispatchEvent(new Event('visibilitychange')));
  const page = render(Models, { shown: shown('allowed') });
  await type('Your question', 'x');
  await fireEvent.click(button('Ask'));
  await settle();
  turn(true);
  await vi.advanceTimersByTimeAsync(3000);
  expect(said('trial_text').length).toBe(0);
  turn(false);
  await vi.advanceTimersByTimeAsync(150);
  expect(said('trial_text').length).toBe(1);

  // The same when the person goes to another page, and the answer is there when they come back.
  page.unmount();
  await vi.advanceTimersByTimeAsync(3000);
  expect(said('trial_text').length).toBe(1);
  render(Models, { shown: shown('allowed') });
  await vi.advanceTimersByTimeAsync(150);
  expect(said('trial_text').length).toBe(2);
  hidden.mockRestore();
});

it('stops an answer and keeps what came', async () => {
  answer = (command) =>
    command.command === 'try_model' ? { reply: 'trial', id: 7 } : command.command === 'stop_trial' ? { reply: 'done' } : { reply: 'trial_text', trial: { ...running, text: 'so far', state: said('stop_trial').length > 0 ? 'stopped' : 'running', duration_ms: 900 } };
  render(Models, { shown: shown('allowed') });
  await type('Your question', 'x');
  button('Ask').focus();
  await fireEvent.click(button('Ask'));
  await settle();
  expect(document.activeElement).toBe(button('Stop'));
  await vi.advanceTimersByTimeAsync(150);
  await fireEvent.click(button('Stop'));
  await settle();
  expect(said('stop_trial')).toEqual([{ command: 'stop_trial', id: 7 }]);
  expect(screen.getByText('so far')).toBeTruthy();
  expect(screen.getByText('Stopped after 900 ms')).toBeTruthy();
  expect(document.activeElement).toBe(button('Ask'));
});

it('tells why a try failed and lets the person ask again', async () => {
  answer = (command) => (command.command === 'try_model' ? { reply: 'trial', id: 7 } : { reply: 'trial_text', trial: { ...running, state: 'failed', problem: 'The server ended in the middle.', duration_ms: 20 } });
  render(Models, { shown: shown('allowed') });
  await type('Your question', 'x');
  await fireEvent.click(button('Ask'));
  await settle();
  await vi.advanceTimersByTimeAsync(150);
  expect(screen.getByRole('alert').textContent).toBe('The server ended in the middle.');
  expect(button('Ask').disabled).toBe(false);

  answer = () => Promise.reject({ code: 'model_busy', message: 'The model answers somebody else.' });
  await fireEvent.click(button('Ask'));
  await settle();
  expect(screen.getByRole('alert').textContent).toBe('The model answers somebody else.');
});

it('can ask nothing while the power is off, the bridge is raised or no model is there, and says which', async () => {
  const page = render(Models, { shown: shown('off') });
  await type('Your question', 'x');
  const why = () => [button('Ask').disabled, document.querySelector('#trial-why')?.textContent ?? null];
  expect(why()).toEqual([true, 'The power is off. Switch it on above to ask a model.']);
  await page.rerender({ shown: shown('allowed', {}, { raised: true }) });
  expect(why()).toEqual([true, 'The bridge is raised, so nothing is asked. Lower it first.']);
  await page.rerender({ shown: shown('allowed', { servers: [server('http://x')] }) });
  expect(why()).toEqual([true, 'No server has a model that can be asked.']);
  await page.rerender({ shown: shown('allowed') });
  expect(why()).toEqual([false, null]);
});

it('tells per chat and model what used it', () => {
  const use = (session_id: string | null, completions: number, turns: number, tokens: number) => ({ model: 'llama', session_id, completions, turns, tokens, last_ms: 0 });
  render(Models, { shown: shown('allowed', { uses: [use('c-1', 2, 1, 1200), use(null, 1, 0, 0), use('gone', 0, 3, 0)] }) });
  const rows = [...document.querySelectorAll('[aria-labelledby="uses-title"] li')].map((row) => row.textContent?.replace(/\s+/g, ' '));
  expect(rows[0]).toContain('Quarterly report llama 2 answers · 1 question about private files · 1,200 tokens');
  expect(rows[1]).toContain('Your own tries llama 1 answer');
  expect(rows[2]).toContain('Chat gone llama 3 questions about private files');
});

it('keeps contents here at once, and lets them go again only after asking', async () => {
  const page = render(Models, { shown: shown('allowed') });
  const box = () => screen.getByRole<HTMLInputElement>('checkbox', { name: /Keep contents of files on this computer/ });
  await fireEvent.click(box());
  expect(sent).toEqual([{ command: 'set_privacy', session_id: null, on: true }]);
  await page.rerender({ shown: shown('allowed', { private_all: true }) });
  await fireEvent.click(box());
  expect([sent.length, box().checked, document.activeElement]).toEqual([1, true, button('Keep them here')]);
  await fireEvent.click(button('Let contents go out'));
  expect(sent.at(-1)).toEqual({ command: 'set_privacy', session_id: null, on: false });
});

it('names what privacy does not cover, and a far server only where there is one', async () => {
  const page = render(Models, { shown: shown('allowed', { private_all: true, review: true }) });
  expect(screen.getByText(/Another chat with the same folder/)).toBeTruthy();
  expect(screen.queryByText(/A model server on another computer/)).toBeNull();
  await page.rerender({ shown: shown('allowed', { servers: [server('https://x', { far: true })] }) });
  expect(screen.getByText(/A model server on another computer/)).toBeTruthy();
});

it('leads from the powers to the page, and says how many models there are', async () => {
  const lead = vi.fn();
  render(Powers, { shown: shown('allowed'), lead });
  expect(screen.getByText('2 models can be asked.')).toBeTruthy();
  await fireEvent.click(button('Servers, models and privacy'));
  expect(lead).toHaveBeenCalledWith('models');
});

it('reads addresses as a person means them', () => {
  expect(['', 'localhost:1', 'https://x'].map(withScheme)).toEqual(['', 'http://localhost:1', 'https://x']);
  const near = ['http://localhost:1', 'http://127.9.9.9/', 'http://[::1]:8', 'http://ollama.localhost'];
  const far = ['http://192.168.0.2', 'http://box:1', 'http://localhost.example', 'http://[fe80::1]', 'http://0.0.0.0:1'];
  expect([near.map(looksFar), far.map(looksFar), looksFar('no address')]).toEqual([near.map(() => false), far.map(() => true), false]);
});

it('lists each model that can be asked once, and none of a server that does not answer', () => {
  const models = shown('allowed', { servers: [near, server('http://b', { models: [model('llama', false), model('gemma')] }), server('http://c', { answers: false, models: [model('phi')] })] });
  expect(askable(models)).toEqual(['llama', 'qwen', 'gemma']);
  expect([modelFacts({ ...model('m'), size_bytes: 2 ** 31, context_tokens: 8192 }), modelFacts(model('m'))]).toEqual(['2.0 GiB · reads 8,192 tokens', '']);
});

it('knows what can still show contents in a private chat', () => {
  const chat = { ...snapshot.chats[0]!, privacy: { on: true, own: true, open_elsewhere: [], asked: [] } };
  const powers = ['shell', 'computer_use', 'clipboard', 'files'].map((name) => ({ ...power('allowed'), power: name }));
  const all = { ...snapshot, powers };
  expect(leaks(all, chat)).toEqual(['shell', 'computer_use', 'clipboard']);
  expect(leaks(all, { ...chat, modes: [{ power: 'shell', mode: 'off' }] })).toEqual(['computer_use', 'clipboard']);
  expect(leaks(all, { ...chat, privacy: { ...chat.privacy, on: false } })).toEqual([]);
  expect([powersInList(['shell']), powersInList(['shell', 'clipboard', 'files'])]).toEqual(['Commands', 'Commands, Clipboard and Files']);
});
