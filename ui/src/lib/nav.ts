/** The pages of the window, in their order, and how keys move among them. */
export const PAGES = ['chats', 'powers', 'models', 'devices', 'rules', 'activity', 'links', 'doctor', 'settings'] as const;
export type Page = (typeof PAGES)[number];

/** Returns the entry that a key leads to, or nothing when the key is not for the list. Goes round at the ends. */
export function navKey(key: string, index: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
    case 'ArrowRight':
      return (index + 1) % count;
    case 'ArrowUp':
    case 'ArrowLeft':
      return (index + count - 1) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
