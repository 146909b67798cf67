import { expect, it } from 'vitest';
import { blocks, LONGEST_RUN, pieces, type Piece } from './pieces';

/** What a person reads, with a run of blanks written out again. */
const read = (all: Piece[]) => all.map((piece) => (piece.kind === 'run' ? ' '.repeat(piece.count) : piece.text)).join('');
const kinds = (all: Piece[]) => all.map((piece) => `${piece.kind}:${piece.kind === 'run' ? piece.count : piece.text}`);

it('marks escapes and leaves everything else as it is', () => {
  expect(kinds(pieces('report\\u{202E}fdp.exe␊', 'odd'))).toEqual(['text:report', 'escape:\\u{202E}', 'text:fdp.exe', 'escape:␊']);
  expect(kinds(pieces('\\u{xyz} \\q \\n', 'odd'))).toEqual(['text:\\u{xyz} \\q \\n']);
  expect(pieces('', 'all')).toEqual([]);
});

it('marks every blank in a word, and in running text only odd ones', () => {
  expect(kinds(pieces('a b  c ', 'all'))).toEqual(['text:a', 'blanks: ', 'text:b', 'blanks:  ', 'text:c', 'blanks: ']);
  expect(kinds(pieces(' a b  c ', 'odd'))).toEqual(['blanks: ', 'text:a b', 'blanks:  ', 'text:c', 'blanks: ']);
});

it('tells a long run of blanks as a number, however many marks there were before', () => {
  expect(kinds(pieces(`x${' '.repeat(LONGEST_RUN + 1)}y`, 'odd'))).toEqual(['text:x', `run:${LONGEST_RUN + 1}`, 'text:y']);

  const found = pieces(`${'␊'.repeat(5_000)}${' '.repeat(4_000)}rm`, 'odd');

  expect(found.at(-2)).toEqual({ kind: 'run', count: 4_000 });
  expect(found.length).toBeLessThan(1_000);
});

it('says the same as the text, whatever it is made of', () => {
  const parts = ['a', ' ', '  ', '␊', '\\u{1F600}', '👍', 'ש', '\\', '<b>', ' '.repeat(30)];
  let state = 7;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const text = Array.from({ length: random(40) }, () => parts[random(parts.length)]).join('');
    expect(read(pieces(text, 'all'))).toBe(text);
    expect(read(pieces(text, 'odd'))).toBe(text);
    expect(read(blocks(text).flat()).replaceAll('\n', '')).toBe(text);
  }
});

it('ends a line after a written line end, which stays visible', () => {
  expect(blocks('cd a␊make␊').map(read)).toEqual(['cd a␊\nmake␊']);
});

it('cuts a megabyte into blocks without losing or splitting anything', () => {
  const texts = ['x'.repeat(1_048_576), '\\u{202E}'.repeat(131_072), '👍'.repeat(100_000), 'echo 1␊'.repeat(10_000), ' '.repeat(1_048_576)];
  for (const text of texts) {
    const found = blocks(text);
    expect(found.length).toBeGreaterThan(1);
    expect(found.flat().length).toBeLessThan(2_000);
    expect(found.map(read).join('').replaceAll('\n', '')).toBe(text);
    for (const block of found) expect(read(block)).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
  }
});
