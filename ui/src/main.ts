import { mount } from 'svelte';
import App from './App.svelte';
import { painted } from './lib/bridge';
import { afterPaint } from './prompt/painted';
import './styles/tokens.css';
import './styles/base.css';

const target = document.getElementById('app');
if (target) mount(App, { target });
// Not told in time, the window is taken for blank. Nothing on this page waits for the answer.
afterPaint(() => void painted().catch(() => undefined));
