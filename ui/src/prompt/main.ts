/** The page of the small window that asks. It knows the questions and nothing else of the program. */
import { mount } from 'svelte';
import '../styles/tokens.css';
import '../styles/base.css';
import PromptWindow from './PromptWindow.svelte';

const target = document.getElementById('app');
if (target) mount(PromptWindow, { target });
