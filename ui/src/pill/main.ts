/** The page of the pill: says that an agent uses the screen. It knows that and nothing else of the program. */
import { mount } from 'svelte';
import '../styles/tokens.css';
import '../styles/base.css';
import Pill from './Pill.svelte';

const target = document.getElementById('app');
if (target) mount(Pill, { target });
