import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PASSED_ON } from './methods.ts';

it('docs/gateway.md lists the methods that are passed on in each pairing', () => {
  const lines = readFileSync(new URL('../../../docs/gateway.md', import.meta.url), 'utf8').split('\n');
  const cellsOf = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const start = lines.findIndex((line) => line.startsWith('| Request | old-old |'));
  const [, ...pairings] = cellsOf(lines[start] as string);
  const rows = lines.slice(start + 2, lines.indexOf('', start)).map(cellsOf);
  expect(rows.flat().filter((cell) => !cell.startsWith('`') && !['yes', 'no'].includes(cell))).toEqual([]);
  const documented = rows.flatMap(([methods = '', ...cells]) =>
    [...methods.matchAll(/`([^`]+)`/g)].map(([, method]) => [method, pairings.filter((_, n) => cells[n] === 'yes')]),
  );
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(PASSED_ON));
  expect(documented).toHaveLength(PASSED_ON.size);
});
