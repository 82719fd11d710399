import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { FixturePolicy, type Permissions } from '../../authorization/permissions/index.ts';
import { isoTime } from '../../kernel/clock.ts';
import { UsageError } from '../command.ts';
import { EXIT_BAD_FIXTURES, SourceFile } from '../fixtures/file.ts';

export type SeedPermissions = z.output<typeof Permissions>;

export interface SeedAgent {
  readonly name: string;
  readonly type: 'autonomous' | 'delegated' | 'service';
  /** E-mail address or id. undefined: the default owner. */
  readonly owner: string | undefined;
  readonly permissions: SeedPermissions;
  readonly expiresAt: string | undefined;
}

export interface SeedDelegation {
  readonly from: string;
  readonly to: string;
  readonly permissions: SeedPermissions;
  readonly expiresAt: string | undefined;
  readonly maxDepth: number | undefined;
}

export interface Seed {
  readonly agents: readonly SeedAgent[];
  readonly delegations: readonly SeedDelegation[];
}

/** Ignored: tests for `legate test`. */
const SeedFile = FixturePolicy.extend({ now: z.unknown(), tests: z.unknown() }).partial({ now: true, tests: true });

/**
 * Reads agents and delegations: CSV if the name ends with .csv, otherwise YAML or JSON. Throws UsageError with the
 * line.
 */
export function readSeed(path: string): Seed {
  if (/\.csv$/i.test(path)) return { agents: readCsv(path), delegations: [] };
  const source = new SourceFile(path);
  const { agents, delegations } = source.read(SeedFile);
  for (const [i, delegation] of delegations.entries())
    for (const side of ['from', 'to'] as const)
      if (!Object.hasOwn(agents, delegation[side]))
        throw source.wrong(['delegations', i, side], `agent ${delegation[side]} is not in this file`);
  return {
    agents: Object.entries(agents).map(([name, { type = 'autonomous', owner, permissions, expiresAt }]) => ({
      name,
      type,
      owner,
      permissions,
      expiresAt: time(expiresAt),
    })),
    delegations: delegations.map(({ from, to, permissions, expiresAt, maxDepth }) => ({
      from,
      to,
      permissions,
      expiresAt: time(expiresAt),
      maxDepth,
    })),
  };
}

const time = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : isoTime(ms));

const HEADER = ['name', 'type', 'owner', 'resource', 'actions'];
const Agents = FixturePolicy.shape.agents;

/**
 * Reads one permission for each row. Rows with the same name and owner form one agent; a row without a resource has no
 * permission.
 */
function readCsv(path: string): SeedAgent[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, EXIT_BAD_FIXTURES);
  }
  const wrong = (line: number, message: string): UsageError =>
    new UsageError(`${path}:${line}: ${message}`, EXIT_BAD_FIXTURES);
  const [header, ...rows] = parseCsv(text.replace(/^\uFEFF/, ''), wrong);
  if (header?.cells.map((cell) => cell.trim()).join() !== HEADER.join())
    throw wrong(1, `the first line must be ${HEADER.join()}`);
  const agents = new Map<string, SeedAgent & { permissions: SeedPermissions }>();
  for (const { line, cells } of rows) {
    if (cells.length !== HEADER.length) throw wrong(line, `has ${cells.length} fields instead of ${HEADER.length}`);
    const [name = '', type = '', owner = '', resource = '', actions = ''] = cells.map((cell) => cell.trim());
    const entry = { resource, actions: actions.split(/\s+/).filter((action) => action !== '') };
    const row = {
      type: type === '' ? undefined : type,
      owner: owner === '' ? undefined : owner,
      permissions: resource === '' && actions === '' ? [] : [entry],
    };
    const checked = Agents.safeParse({ [name]: row });
    if (!checked.success) {
      const [issue] = checked.error.issues;
      throw wrong(line, `${issue?.path.slice(1).join('.') || 'name'}: ${issue?.message}`);
    }
    const parsed = checked.data[name] as (typeof checked.data)[string];
    const key = JSON.stringify([name, row.owner]);
    const known = agents.get(key);
    if (known && parsed.type !== undefined && parsed.type !== known.type)
      throw wrong(line, `type: ${name} is ${known.type} above`);
    agents.set(key, {
      name,
      type: known?.type ?? parsed.type ?? 'autonomous',
      owner: row.owner,
      permissions: [...(known?.permissions ?? []), ...parsed.permissions],
      expiresAt: undefined,
    });
  }
  return [...agents.values()];
}

interface Row {
  readonly line: number;
  readonly cells: string[];
}

/** Parses CSV (RFC 4180). Empty lines are left out. */
function parseCsv(text: string, wrong: (line: number, message: string) => UsageError): Row[] {
  const rows: Row[] = [];
  let [line, at] = [1, 0];
  while (at < text.length) {
    const row: Row = { line, cells: [] };
    for (let more = true; more; ) {
      const quoted = /^"((?:[^"]|"")*)"/.exec(text.slice(at));
      const cell = quoted?.[0] ?? (/^[^,\r\n]*/.exec(text.slice(at)) as RegExpExecArray)[0];
      if (!quoted && cell.startsWith('"')) throw wrong(line, 'a quotation mark is not closed');
      row.cells.push(quoted ? (quoted[1] as string).replaceAll('""', '"') : cell);
      line += cell.split('\n').length - 1;
      at += cell.length;
      const end = /^(?:,|\r?\n|$)/.exec(text.slice(at))?.[0];
      if (end === undefined) throw wrong(line, 'text follows a closing quotation mark');
      at += end.length;
      more = end === ',';
      if (end.endsWith('\n')) line++;
    }
    if (row.cells.length > 1 || row.cells[0]?.trim() !== '') rows.push(row);
  }
  return rows;
}
