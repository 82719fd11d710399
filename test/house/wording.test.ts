import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const PLACES = ['README.md', 'SECURITY.md', 'docs', 'src', 'console/src', 'examples'];

/** Wording that confused new users. It must not return to texts that people read. */
const UNCLEAR: readonly RegExp[] = [
  /\ban envoy acts\b/i,
  /\bto be read at\b/,
  /\bno administrator's\b/,
  /\bWho comes back with\b/,
  /\bWhoever tries\b/,
  /\bpath whole\b(?!, where)/,
  /\bcredential of ours\b/,
  /\bWhat is revoked\b/,
  /\btrust nobody\b/,
  /\bwhat production would refuse\b/,
  /\bwhat an MCP client meets\b/,
  /\bas far as was looked\b/,
  /\bNOT as it should be\b/,
  /\bNothing is here\b/,
  /\bnames no known\b/,
  /\bas many \w+ \w+ as are allowed\b/i,
  /\bwhat a token is worth\b/,
  /\bEnd what you do not know\b/,
  /\bIt will use\b/,
  /\bGo on with this account\b/,
  /\bYou have an account already\b/,
  /\bSie benutzt\b/,
  /\bselbst angemeldet\b/,
  /\bhandelte mit\b/,
  /\bfreiwillig\b/,
  /\bDrücken Sie\b/,
  /\bzu viele zugleich\b/,
];

function filesBelow(path: string): string[] {
  if (/\.\w+$/.test(path)) return /\.(md|ts|tsx|mjs|html)$/.test(path) && !path.endsWith('.test.ts') ? [path] : [];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((entry) => {
      const inner = join(path, entry.name);
      return entry.isDirectory() || /\.\w+$/.test(entry.name) ? filesBelow(inner) : [];
    });
}

it('no text of README, docs, pages, console, commands or API has wording that is known to be unclear', () => {
  const found = PLACES.flatMap((place) => filesBelow(join(root, place))).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return UNCLEAR.flatMap((pattern) => (pattern.test(text) ? [`${relative(root, file)}: ${pattern.source}`] : []));
  });
  expect(found).toEqual([]);
});

const COMMANDS = readdirSync(join(root, 'src/cli'))
  .flatMap((file) => /^([a-z]+)\S*\.ts$/.exec(file)?.[1] ?? [])
  .join('|');
/** `npx legate` works in a clone and next to an installed package; `legate` alone only where it is on the PATH. */
const WITHOUT_NPX = new RegExp(`(?<!npx )(?<![\\w/.-])legate (?:${COMMANDS})\\b`);
/** The names by which a command introduces itself to other services. */
const NAME = /client_name: |'user-agent': /;

it('every text that the program prints names its commands with npx', () => {
  const files = filesBelow(join(root, 'src')).concat(join(root, 'deploy/prometheus/alerts.yaml'));
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => WITHOUT_NPX.test(line) && !/^\s*(\*|\/\*|\/\/)/.test(line) && !NAME.test(line))
      .map((line) => `${relative(root, file)}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

it('no text of the console replaces another one that has the same name', () => {
  const folder = join(root, 'console/src/texts');
  const names = readdirSync(folder)
    .filter((file) => /^en\.ts$|-en\.ts$/.test(file))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split(/^export const /m))
    // The states of the gateway are spread into `status`, all other objects into the catalogue itself.
    .filter((part) => !part.startsWith('gatewayStatusEn'))
    .flatMap((part) => [...part.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name));
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
