/** Models and devices of a normal desk. */
import type { DeviceView, DevicesView, ModelServerView, ModelsView } from '../src/generated/types';

const now = Date.now();
const server = (url: string, more: Partial<ModelServerView>): ModelServerView => ({
  url, api: 'ollama', name: null, from_config: false, far: false, parallel: 1, answers: true, trouble: null, models: [], running: 0, has_key: false, ...more,
});
const model = (name: string, size_bytes: number | null, context_tokens: number | null, offered = true) => ({ name, size_bytes, context_tokens, elsewhere: false, missing: false, offered });
const device = (id: string, kind: string, place: string, description: string, more: Partial<DeviceView> = {}): DeviceView => ({
  id, kind, place, description, present: true, shared: false, from_config: false, added: null, denied: null, held_by: null, how: null, entry: null, lines: [], ...more,
});

export const models: ModelsView = {
  servers: [
    server('http://127.0.0.1:11434', { name: 'Ollama 0.5.7', from_config: true, running: 1, models: [model('llama3.2:3b', 2_019_393_189, 131_072), model('qwen2.5-coder:14b-instruct-q4_K_M', 8_988_124_069, 32_768), model('nomic-embed-text:latest', 274_302_450, 2048)] }),
    server('http://127.0.0.1:1234/v1', { api: 'openai', name: 'LM Studio', parallel: 4, models: [model('llama3.2:3b', null, 8192, false), model('gemma-3-27b-it', null, null)] }),
    server('https://box.example.org:8443/v1', { api: 'openai', far: true, has_key: true, answers: false, trouble: 'The server did not answer within 2 seconds. Look whether it runs and whether its address is right.' }),
  ],
  uses: [
    { model: 'llama3.2:3b', session_id: '0b7c2f9e-quarterly', completions: 14, turns: 3, tokens: 18_204, last_ms: now - 120_000 },
    { model: 'gemma-3-27b-it', session_id: null, completions: 1, turns: 0, tokens: 91, last_ms: now - 3600_000 },
    { model: 'llama3.2:3b', session_id: 'c-gone', completions: 0, turns: 1, tokens: 0, last_ms: now - 26 * 3600_000 },
  ],
  private_all: false,
  review: true,
  preview_bytes: 0,
};
export const foundServers: ModelServerView[] = [server('http://127.0.0.1:11434', { name: 'Ollama' }), server('http://127.0.0.1:8080', { api: 'openai', name: 'llama.cpp' })];
export const devices: DevicesView = {
  looked: true,
  devices: [
    device('serial-0403-6001-1', 'serial', '/dev/ttyUSB0', 'FT232R USB UART', { shared: true, held_by: 'cli', how: '115200 baud, 8N1' }),
    device('serial-acm', 'serial', '/dev/ttyACM0', 'Arduino Uno', { denied: 'The group dialout may open it, and you are not in it. Run: sudo usermod -aG dialout $USER, then log in again.' }),
    device('serial-pts', 'serial', '/home/ada/ports/plotter', '', { shared: true, added: '/home/ada/ports/plotter' }),
    device('usb-2341-0043', 'usb', '2341:0043, bus 1', 'Arduino Uno R3 (CDC ACM)'),
    device('usb-1d50-6018', 'usb', '', 'Black Magic Probe', { shared: true, present: false }),
    device('gpio-0', 'gpio', 'gpiochip0', 'pinctrl-bcm2711, 58 lines', { shared: true, from_config: true, held_by: '0b7c2f9e-quarterly', how: 'line 17 out', entry: 'gpio:gpiochip0', lines: [{ number: 2, name: 'SDA1' }, { number: 17, name: 'RELAY' }] }),
    device('usb:1209:0001', 'usb', '', '', { present: false, from_config: true, entry: 'usb:1209:0001' }),
  ],
};
export const asked = [
  { path: '/home/ada/Documents/Quarterly report/salaries.csv', stubs: 2, turns: 3, last_ms: now - 60_000 },
  { path: '/home/ada/Documents/Quarterly report/people/reviews 2026.md', stubs: 1, turns: 1, last_ms: now - 9 * 60_000 },
];
