import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  build: {
    target: 'es2022',
    // The page runs under a policy without data addresses for code and styles: keep everything in files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Three pages: the window, the small one for questions, and the pill.
    rollupOptions: { input: { index: 'index.html', prompt: 'prompt.html', pill: 'pill.html' } },
  },
  // Tests read there which labels and rules the engine knows: each must have words.
  server: { fs: { allow: ['.', '../crates/engine/src/prompts', '../crates/engine/src/dial', '../crates/policy/src', '../crates/os/src', '../crates/caps/src', '../crates/store/src'] } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'] },
});
