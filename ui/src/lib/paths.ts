/** Paths for reading. Never for deciding: the engine alone knows what a path leads to. */

export interface PathParts {
  /** Everything before the name, with its last separator. */
  before: string;
  name: string;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

const separator = (path: string): string => (/^([A-Za-z]:\\|\\\\)/.test(path) ? '\\' : '/');

/** Writes the home folder as ~. Without knowing it, the path stays whole. */
export function homeShort(path: string, home: string | null | undefined): string {
  if (!home || home === '/') return path;
  if (path === home) return '~';
  return path.startsWith(home + separator(path)) ? `~${path.slice(home.length)}` : path;
}

/** Splits a path before its last part. A root is all name. */
export function parts(path: string): PathParts {
  const mark = separator(path);
  const trimmed = path.length > 1 && path.endsWith(mark) ? path.slice(0, -1) : path;
  const cut = trimmed.lastIndexOf(mark) + 1;
  return cut === 0 || cut === trimmed.length ? { before: '', name: path } : { before: trimmed.slice(0, cut), name: trimmed.slice(cut) };
}

/** A path below a folder without the folder. Anything else stays whole. */
export function within(path: string, folder: string | null): string {
  if (folder === null) return path;
  const start = folder.endsWith(separator(folder)) ? folder : folder + separator(folder);
  return path.startsWith(start) ? path.slice(start.length) : path;
}

/** A name from outside for the middle of a sentence, so that right-to-left letters cannot turn the rest of it. */
export const isolated = (name: string): string => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);
