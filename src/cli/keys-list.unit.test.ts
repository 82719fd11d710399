import { expect, it } from 'vitest';
import { listedKeys } from './keys-list.ts';

const key = (id: string, createdAt: string) => ({ id, createdAt, key: `secret of ${id}` });
const [first, second, third] = [
  key('a', '2030-01-01T00:00:00.000Z'),
  key('b', '2030-03-01T00:00:00.000Z'),
  key('c', '2030-03-03T12:00:00.000Z'),
];

it('lists which key is in use, which ones were before, and which one will be', () => {
  const secrets = { signing: [second, third, first], cookie: [third, second], pepper: [first], ledger: [] };
  const rows = listedKeys(secrets, Date.parse('2030-03-03T12:00:30.000Z'));
  expect(rows.map(({ kind, id, use, ageDays }) => [kind, id, use, ageDays])).toEqual([
    ['signing', 'b', 'current', 2],
    ['signing', 'c', 'next', 0],
    ['signing', 'a', 'earlier', 61],
    ['cookie', 'c', 'current', 0],
    ['cookie', 'b', 'earlier', 2],
    ['pepper', 'a', 'current', 61],
  ]);
  expect(JSON.stringify(rows)).not.toContain('secret of');
});
