/**
 * Cuts a text from outside into pieces, so that what could deceive stands out: escapes, and blanks that the eye passes over.
 *
 * The engine has already written every invisible character as an escape. Nothing here changes what the text says: it only
 * marks, and writes a long run of blanks as their number, which would push the rest out of sight.
 */

export type Piece =
  | { kind: 'text'; text: string }
  | { kind: 'escape'; text: string }
  /** Blanks that are shown one by one. */
  | { kind: 'blanks'; text: string }
  /** Blanks that are shown as a number. */
  | { kind: 'run'; count: number };

/** In a word of a command every blank counts; in running text only those where one would not look for them. */
export type Blanks = 'all' | 'odd';

/** How the engine writes a line feed. */
const LINE_END = '␊';
/** Longer runs of blanks are told as a number. */
export const LONGEST_RUN = 8;
/** Marks of one value. Beyond, escapes are still readable as text, only without colour: the page must stay quick. */
const MOST_MARKS = 600;
const LINES_A_BLOCK = 40;
const CHARS_A_BLOCK = 4_000;

const ESCAPE = String.raw`\\u\{[0-9A-F]{1,6}\}|[\u2400-\u241F\u2421]`;
const patterns = {
  all: new RegExp(`${ESCAPE}| +`, 'g'),
  odd: new RegExp(`${ESCAPE}|^ +| {2,}| +$`, 'gm'),
} as const;

/** Splits one text. `budget` is how many marks are left for its value and is used up. */
export function pieces(text: string, blanks: Blanks, budget = { marks: MOST_MARKS }): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(patterns[blanks])) {
    const mark = match[0];
    const isBlank = mark.startsWith(' ');
    const isRun = isBlank && mark.length > LONGEST_RUN;
    // A long run is always told as a number: it is what pushes the rest out of sight.
    if (budget.marks <= 0 && !isRun) continue;
    budget.marks -= 1;
    if (match.index > from) found.push({ kind: 'text', text: text.slice(from, match.index) });
    if (isRun) found.push({ kind: 'run', count: mark.length });
    else found.push({ kind: isBlank ? 'blanks' : 'escape', text: mark });
    from = match.index + mark.length;
  }
  if (from < text.length) found.push({ kind: 'text', text: text.slice(from) });
  return found;
}

/** Splits a long text into blocks of lines. A written line end stays visible and also ends the line. */
export function blocks(text: string): Piece[][] {
  const budget = { marks: MOST_MARKS };
  return packed(text.split(LINE_END).map((line, index, all) => (index < all.length - 1 ? `${line}${LINE_END}` : line))).map((block) =>
    pieces(block, 'odd', budget),
  );
}

/** Joins lines to blocks that the browser can lay out one at a time; cuts lines that are longer than a block. */
function packed(lines: string[]): string[] {
  const done: string[] = [];
  let block: string[] = [];
  let chars = 0;
  const close = () => {
    if (block.length > 0) done.push(block.join('\n'));
    block = [];
    chars = 0;
  };
  for (const line of lines.filter((one, index) => one !== '' || index < lines.length - 1)) {
    for (const part of cut(line)) {
      if (block.length >= LINES_A_BLOCK || chars + part.length > CHARS_A_BLOCK) close();
      block.push(part);
      chars += part.length;
    }
  }
  close();
  return done;
}

/** Cuts a line at the size of a block, but never inside of an escape or between the halves of a character. */
function cut(line: string): string[] {
  const parts: string[] = [];
  let from = 0;
  while (line.length - from > CHARS_A_BLOCK) {
    let to = from + CHARS_A_BLOCK;
    const escape = line.lastIndexOf('\\', to);
    if (escape > from && to - escape < 10) to = escape;
    const half = line.charCodeAt(to);
    if (half >= 0xdc00 && half <= 0xdfff) to -= 1;
    parts.push(line.slice(from, to));
    from = to;
  }
  parts.push(line.slice(from));
  return parts;
}
