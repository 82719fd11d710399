import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderClientTable, renderClientTypes } from '../../scripts/docs/client.ts';
import { renderConfig } from '../../scripts/docs/config.ts';
import { renderErrors } from '../../scripts/docs/errors.ts';
import { renderStandards, requirementsIn } from '../../scripts/docs/standards.ts';
import { renderTourMarkdown } from '../../src/cli/tour/render.ts';
import { readConfig } from '../../src/config.ts';
import { mountRoutes } from '../../src/http/app.ts';
import { EVENT_TYPES } from '../../src/ledger/index.ts';
import { modules } from '../../src/modules.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { distinctRoutes } from '../support/endpoints.ts';

const root = resolve(import.meta.dirname, '../..');
const mounted = distinctRoutes(readConfig({}).values);
const docs = (name: string): string => resolve(root, 'docs', name);

/** Replaces the text between `<!-- name:begin ... -->` and `<!-- name:end -->`. */
const withBlock = (text: string, name: string, block: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name}:begin[^>]*-->\\n)[^]*(<!-- ${name}:end -->)`),
    (_, begin, end) => begin + block + end,
  );

/** `npm run docs` runs this file with `--update`, which writes the files that are compared here. */
describe('generated docs', () => {
  it('docs/config.md has every option', async () => {
    await expect(renderConfig()).toMatchFileSnapshot(docs('config.md'));
  });

  it('docs/errors.md has every error', async () => {
    await expect(renderErrors()).toMatchFileSnapshot(docs('errors.md'));
  });

  it('docs/standards.md has every requirement that the title of a test names', async () => {
    const standards = readFileSync(docs('standards.md'), 'utf8');
    expect(standards).toContain('<!-- requirements:begin');
    await expect(withBlock(standards, 'requirements', renderStandards())).toMatchFileSnapshot(docs('standards.md'));
  });

  it('legate/client has every operation of the API, and its types', async () => {
    await expect(renderClientTable()).toMatchFileSnapshot(resolve(root, 'src/client/endpoints.ts'));
    await expect(renderClientTypes()).toMatchFileSnapshot(resolve(root, 'src/client/types.ts'));
  });

  it('README.md has the tour that the command line runs', async () => {
    const readme = readFileSync(resolve(root, 'README.md'), 'utf8');
    expect(readme).toContain('<!-- tour:begin');
    await expect(withBlock(readme, 'tour', renderTourMarkdown())).toMatchFileSnapshot(resolve(root, 'README.md'));
  });
});

describe('docs/performance.md', () => {
  it('has every figure of the README', () => {
    const figuresOf = (text: string): string[] => text.match(/\d[\d.,]*\d/g) ?? [];
    const speed = /^## Speed$(.*?)^## /ms.exec(readFileSync(resolve(root, 'README.md'), 'utf8'))?.[1] ?? '';
    const measured = new Set(figuresOf(readFileSync(docs('performance.md'), 'utf8')));
    expect(figuresOf(speed).length).toBeGreaterThan(20);
    expect(figuresOf(speed).filter((figure) => !measured.has(figure))).toEqual([]);
  });
});

describe('README, docs and guides', () => {
  /** Endpoints of witnesses and of the service that lists breached passwords, and one with the name of a server. */
  const OTHERS = ['POST /add-checkpoint', 'GET /range', 'PUT /gateway/connections/issues'];
  const withoutIds = (path: string): string =>
    path.replace(/\{[^}]+\}|:\w+(?:\{[^}]*\})?|\$[A-Z]+|\b[a-z]{3}_\.{3}/g, ':id').replace(/\W+$/, '');

  it('name only endpoints that exist, with their paths', () => {
    const all = mountRoutes(modules, readConfig({}).values);
    const known = new Set(all.map(({ route, path }) => `${route.method} ${withoutIds(path)}`));
    const pages = ['docs', 'docs/guides'].flatMap((folder) =>
      readdirSync(resolve(root, folder)).flatMap((file) => (/(?<!map)\.md$/.test(file) ? [`${folder}/${file}`] : [])),
    );
    const named = ['README.md', ...pages].flatMap((file) =>
      [
        ...readFileSync(resolve(root, file), 'utf8').matchAll(/\b(GET|POST|PUT|PATCH|DELETE)\s+(\/\w[\w/:{}$.-]*)/g),
      ].map(([, method, path]) => ({ file, endpoint: `${method} ${withoutIds(path as string)}` })),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ endpoint }) => !known.has(endpoint) && !OTHERS.includes(endpoint))).toEqual([]);
  });
});

describe('docs/preview.md', () => {
  it('names each endpoint that has a preview', () => {
    const text = readFileSync(docs('preview.md'), 'utf8');
    const previewed = mounted.filter(({ route, path }) => route.preview && !path.includes('/sessions'));
    expect(previewed.length).toBeGreaterThan(10);
    expect(previewed.map(({ path }) => path).filter((path) => !text.includes(`${path}\``))).toEqual([]);
  });
});

describe('docs/map.md', () => {
  const map = readFileSync(docs('map.md'), 'utf8');
  const rows = [...map.matchAll(/^\| `([A-Z]+) ([^`]+)` \|(.*)\|$/gm)].map(([, method, path, files]) => ({
    endpoint: `${method} ${path}`,
    files: files as string,
  }));

  it('has exactly one row for each endpoint', () => {
    const endpoints = mounted.map(({ route, path }) => `${route.method} ${path}`);
    expect(rows.map((r) => r.endpoint).sort()).toEqual(endpoints.sort());
  });

  it('names files that exist', () => {
    const missing = rows
      .flatMap((r) => [...r.files.matchAll(/`(src\/[^`]+)`/g)].map((m) => m[1] as string))
      .filter((file) => !existsSync(resolve(root, file)));
    expect(missing).toEqual([]);
    for (const row of rows) expect(row.files, row.endpoint).toMatch(/`src\//);
  });
});

describe('docs/standards.md', () => {
  it('takes document, section and requirement from a title, and refuses a document it does not know', () => {
    const source = "it.each([1])('[RFC 7636 4.6; MCP 2026-07-28 security] burns %s', () => {})";
    expect(requirementsIn(source, 'a.test.ts')).toEqual([
      { document: 'RFC 7636', section: '4.6', what: 'burns …', file: 'a.test.ts' },
      { document: 'MCP', section: '2026-07-28 security', what: 'burns …', file: 'a.test.ts' },
    ]);
    expect(() => requirementsIn("it('[RFC 76366 4.6] x')", 'a.test.ts')).toThrow('RFC 76366');
  });

  it('names tests that exist, one or more for each requirement', () => {
    const requirements = readFileSync(docs('standards.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| Requirement'));
    expect(requirements.length).toBeGreaterThan(5);
    for (const line of requirements) {
      const tests = [...line.matchAll(/`((?:src|test)\/[^`]+\.test\.ts)`/g)].map((m) => m[1] as string);
      expect(tests, line).not.toEqual([]);
      expect(tests.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
    }
  });
});

describe('docs/storage.md', () => {
  it('has a section for each table', () => {
    const headings = [...readFileSync(docs('storage.md'), 'utf8').matchAll(/^## `(\w+)`/gm)].map((m) => m[1]);
    expect(headings.sort()).toEqual([...TABLE_NAMES].sort());
  });
});

describe('docs/events.md', () => {
  it('has a row for each type of event, with its meaning', () => {
    const rows = [...readFileSync(docs('events.md'), 'utf8').matchAll(/^\| `([a-z._-]+)` \| (.*?) \| .+ \|$/gm)];
    expect(Object.fromEntries(rows.map(([, type, meaning]) => [type, meaning]))).toEqual(EVENT_TYPES);
  });
});

describe('docs/decisions/0007-dependencies.md', () => {
  it('lists for each package in production what it replaces', () => {
    const { dependencies } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'));
    const text = readFileSync(docs('decisions/0007-dependencies.md'), 'utf8');
    const rows = [...text.matchAll(/^\| ([\w@./-]+) \| .+ \|$/gm)].map(([, name]) => name);
    expect(rows.filter((name) => name !== 'Package').sort()).toEqual(Object.keys(dependencies).sort());
  });
});

describe('docs/security.md', () => {
  /** The rows of its tables: the requirement or attack, its state, and the tests with their titles. */
  const rows = readFileSync(docs('security.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!Requirement|Attack)/.test(line))
    .map((line) => {
      const cells = line.replaceAll('\\|', '\u0000').split('|').slice(1, -1);
      const tests = [
        ...(cells.at(-1) ?? '').matchAll(/`((?:src|test)\/[^`]+\.test\.ts)`(?:: ([^;|]+(?:;(?! `)[^;|]+)*))?/g),
      ];
      return {
        what: (cells[0] ?? '').trim(),
        state: cells.length === 4 ? (cells[1] ?? '').trim() : 'met',
        tests: tests.map(([, file, title]) => ({
          file: file as string,
          title: title?.replaceAll('\u0000', '|').trim(),
        })),
      };
    });

  it('names one or more tests for each requirement that is met and for each attack', () => {
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ state }) => !['met', 'partly', 'no'].includes(state))).toEqual([]);
    expect(rows.filter(({ state, tests }) => state !== 'no' && tests.length === 0)).toEqual([]);
  });

  it('names tests that exist, by file and title', () => {
    const isThere = ({ file, title }: { file: string; title: string | undefined }): boolean =>
      existsSync(resolve(root, file)) &&
      (title === undefined || readFileSync(resolve(root, file), 'utf8').includes(title));
    expect(rows.flatMap(({ tests }) => tests).filter((test) => !isThere(test))).toEqual([]);
    expect(rows.flatMap(({ tests }) => tests).filter(({ title }) => title !== undefined).length).toBeGreaterThan(80);
  });

  it('names files of the code that exist', () => {
    const text = readFileSync(docs('security.md'), 'utf8');
    const named = [...text.matchAll(/`(src\/[^`*]+)`/g)].map((m) => m[1] as string);
    expect(named.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
  });
});
