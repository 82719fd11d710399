import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { PRUNING, setPosition } from '../../ledger/index.ts';
import type { SealRemainsRow, SealRow, StreamEventRow } from '../../storage/index.ts';
import { parseKey, policyOfKeys, verifyConsistency, verifyExport, verifyProof } from '../../verify/index.ts';
import { openWitness } from '../../witness/index.ts';
import { readAnchor, writeAnchor } from './anchor.ts';
import { assertContinues, signersOf } from './begin.ts';
import { ABSENT, leafHash, remainsLeaf, rowTexts } from './entry-text.ts';
import { checkSealedLedger } from './index.ts';
import { noteSigner, openCheckpoint, signCheckpoint } from './note.ts';
import { saltIn } from './salts.ts';
import { hashIn, readLog, readTiles, writeTiles } from './store.ts';
import { TreeEdge } from './tree.ts';

/** The table of docs/sealed-ledger.md. Each of its rows is a test of this file. */
const TABLE = readFileSync(join(import.meta.dirname, '../../../docs/sealed-ledger.md'), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, attack, found = '', name] = /^\| (.+) \| (.+) \| `(\S+)` \|$/.exec(line) ?? [];
    return attack && name ? [{ attack, name, found: found === 'nothing' ? [] : found.split(', ') }] : [];
  });

/** The server signs only on request. Otherwise it could sign the attack of one test during the next. */
const SEALED = { ledger: { seal: 'on', sealIntervalMs: 60_000 }, audit: { eraseEntries: true } } as const;
const TABLES = ['stream_events', 'seal', 'seal_tiles', 'seal_remains'] as const;

/** Each function makes the response of the dishonest operator from the response of the service. */
interface Lies {
  readonly proof?: (seq: number, proof: string) => string;
  readonly export?: (text: string) => string;
  readonly consistency?: (answer: string) => string;
  /** The auditor has kept nothing from earlier visits. */
  readonly unseen?: boolean;
}

let t: TestService;
let policy: ReturnType<typeof policyOfKeys>;
let keys: string[];
/** The auditor keeps the newest checkpoint and, by sequence, the leaves that proofs have shown. */
let keptNote: string;
const keptLeaves = new Map<number, string>();
/** The operator keeps the current database and one from some decisions earlier. */
let now: Copy;
let earlier: Copy;
let earlierAnchor: string;
/** Sequences of the decisions. The second was erased in its private fields, the third completely. */
let decisions: number[];

type Copy = Map<(typeof TABLES)[number], Record<string, unknown>[]>;
const db = () => t.legate.platform.database.write;
const dir = () => t.database.dir;
const linesOf = (text: string) => text.slice(0, -1).split('\n');
const exported = async () => (await t.legate.ledger.export({ fromSeq: 1 })).text();
const seqAt = (i: number) => decisions[i] as number;
const leafOf = (proof: string): string =>
  JSON.parse(Buffer.from((proof.split('\n')[1] ?? '').slice(6), 'base64').toString()).leaf;
/** A cast for statements that are built for several tables. */
const asRows = (rows: readonly object[]): never => rows as never;

async function copy(): Promise<Copy> {
  const found: Copy = new Map();
  for (const table of TABLES) {
    const rows = await db().selectFrom(table).selectAll().execute();
    const blobs = (value: unknown) => (value instanceof ArrayBuffer ? Buffer.from(value) : value);
    found.set(
      table,
      rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, blobs(value)]))),
    );
  }
  return found;
}

async function restore(from: Copy): Promise<void> {
  const { platform } = t.legate;
  await platform.ledger.maintain(async (inside) => {
    for (const [table, rows] of from) {
      await inside.deleteFrom(table).execute();
      if (rows.length > 0) await inside.insertInto(table).values(asRows(rows)).execute();
    }
    const last = Math.max(...(from.get('stream_events') as unknown as StreamEventRow[]).map(({ seq }) => seq));
    await inside.updateTable('head').set({ seq: last }).execute();
  });
}

/** Changes the rows of the ledger, as somebody with access to the database can. */
async function edit(change: (rows: StreamEventRow[]) => StreamEventRow[]): Promise<void> {
  const copied = await copy();
  const rows = (copied.get('stream_events') as unknown as StreamEventRow[]).sort((a, b) => a.seq - b.seq);
  await restore(new Map([...copied, ['stream_events', asRows(change(rows))]]));
}

const altered = (rows: StreamEventRow[]) =>
  rows.map((row) => (row.seq === seqAt(0) ? { ...row, result: 'denied' } : row));
const inserted = (rows: StreamEventRow[]) => [
  ...rows.filter(({ seq }) => seq <= seqAt(0)),
  ...rows.filter(({ seq }) => seq === seqAt(0)).map((row) => ({ ...row, id: `${row.id}x`, seq: row.seq + 1 })),
  ...rows.filter(({ seq }) => seq > seqAt(0)).map((row) => ({ ...row, seq: row.seq + 1 })),
];
/** Adds an entry at the end, some time after the last one. */
const appended =
  (after: number, other: Partial<StreamEventRow> = {}) =>
  (rows: StreamEventRow[]) => {
    const last = rows.at(-1) as StreamEventRow;
    const like = rows.find(({ seq, type }) => (other.type ? type === other.type : seq === seqAt(0))) ?? last;
    const row = { ...like, id: `${like.id}${last.seq}`, seq: last.seq + 1, timestamp: last.timestamp + after };
    return [...rows, { ...row, ...other }];
  };

/**
 * Adds a record in advance: an entry that claims that the next entry was deleted, and that next entry. Returns the
 * sequence of the first.
 */
async function recordAhead(type: 'audit.erased' | 'ledger.pruned', dataOf: (seq: number) => object): Promise<number> {
  const by = (await db().selectFrom('head').select('seq').executeTakeFirstOrThrow()).seq + 1;
  await edit((rows) => appended(1)(appended(1, { type, data: JSON.stringify(dataOf(by + 1)) })(rows)));
  await writeAnchor(dir(), await rebuild());
  return by;
}

const readTile = async () => {
  const tile = (await readTiles(db(), [{ level: 0, tile: 0 }])).get('0/0');
  return { hashes: Buffer.from(tile?.hashes ?? []), salts: Buffer.from(tile?.salts ?? []) };
};
const writeTile = (values: { hashes: Buffer } | { salts: Buffer }) =>
  db().updateTable('seal_tiles').set(values).where('level', '=', 0).where('tile', '=', 0).execute();

/** Builds the tree again from the current rows, and signs it with the key of the ledger. */
async function rebuild(): Promise<string> {
  const { platform } = t.legate;
  const { origin } = (await readLog(db())) as { origin: string };
  const { seq: size } = await db().selectFrom('head').select('seq').executeTakeFirstOrThrow();
  const rows = new Map((await db().selectFrom('stream_events').selectAll().execute()).map((row) => [row.seq, row]));
  const erased = new Set((await db().selectFrom('seal_remains').select('seq').execute()).map(({ seq }) => seq));
  const before = await readTile();
  const edge = TreeEdge.from(0, new Map());
  for (let seq = 1; seq <= size; seq++) {
    const row = rows.get(seq);
    const salt = saltIn(before.salts, seq - 1) ?? randomBytes(16).toString('hex');
    if (!row && seq > before.hashes.length / 32) edge.add(leafHash(remainsLeaf(seq, ABSENT)), Buffer.alloc(16), 0);
    else if (!row || erased.has(seq)) edge.add(hashIn(before.hashes, seq - 1).toString('latin1'), Buffer.alloc(16), 0);
    else edge.add(leafHash(rowTexts(row, salt).leaf), Buffer.from(salt, 'hex'), 0);
  }
  const note = signCheckpoint({ origin, size, root: edge.root() }, await signersOf(platform, origin));
  await platform.ledger.maintain(async (inside) => {
    await inside.deleteFrom('seal_tiles').execute();
    await writeTiles(inside, edge.unstored(), 0);
    await inside.updateTable('seal').set({ size, signed_size: size, checkpoint: note }).execute();
  });
  return note;
}

/** Deletes a row, or its private fields, together with the salt. `as` is what the server claims about the remains. */
async function erase(seq: number, whole: boolean, as: Partial<SealRemainsRow> = {}) {
  const { salts } = await readTile();
  await writeTile({ salts: salts.fill(0, (seq - 1) * 16, seq * 16) });
  const digest = keptLeaves.get(seq)?.split('\0')[4] ?? '';
  await db().deleteFrom('seal_remains').where('seq', '=', seq).execute();
  await db()
    .insertInto('seal_remains')
    .values({ seq, type: 'audit', timestamp: t.clock.now(), digest, erased_by: null, ...as })
    .execute();
  const nothing = { parameters: null, ip: null, user_agent: null };
  if (whole) await db().deleteFrom('stream_events').where('seq', '=', seq).execute();
  else await db().updateTable('stream_events').set(nothing).where('seq', '=', seq).execute();
}

/** Changes the rows, and everything else that the server stores to match them. */
async function rewrite(change: (rows: StreamEventRow[]) => StreamEventRow[]): Promise<void> {
  await edit(change);
  await writeAnchor(dir(), await rebuild());
}

/** What an attacker with access to the database, the keys and the machine does. */
type Attack = (() => Promise<Lies>) | (() => Promise<void>);
const ATTACKS: Record<string, Attack> = {
  altered: () => edit(altered),
  dropped: () => edit((rows) => rows.filter(({ seq }) => seq !== seqAt(0))),
  inserted: () => edit(inserted),
  reordered: () =>
    edit((rows) =>
      rows.map((row) => {
        const [one, other] = [seqAt(0), seqAt(3)];
        return { ...row, seq: row.seq === one ? other : row.seq === other ? one : row.seq };
      }),
    ),
  duplicated: () =>
    edit((rows) => {
      const [one] = rows.filter(({ seq }) => seq === seqAt(0)) as [StreamEventRow];
      return rows.map((row) => (row.seq === seqAt(3) ? { ...one, id: row.id, seq: row.seq } : row));
    }),
  tile: async () => {
    const { hashes } = await readTile();
    await writeTile({ hashes: hashes.fill(9, (seqAt(0) - 1) * 32, seqAt(0) * 32) });
  },
  leaf: async () => {
    await edit(altered);
    const { checkpoint, signed_size } = (await readLog(db())) as { checkpoint: string; signed_size: number };
    await rebuild();
    await db().updateTable('seal').set({ checkpoint, signed_size }).execute();
  },
  cut: async () => {
    await edit((rows) => rows.slice(0, -2));
    await rebuild();
  },
  'rolled-back': () => restore(earlier),
  machine: async () => {
    await restore(earlier);
    await writeAnchor(dir(), earlierAnchor);
  },
  rewritten: async () => {
    await edit(altered);
    await rebuild();
  },
  'rewritten-all': () => rewrite(altered),
  'rewritten-longer': () => rewrite((rows) => appended(1)(altered(rows))),
  unseen: async () => {
    await rewrite(altered);
    return { unseen: true };
  },
  forked: async () => {
    // The data folder continues with the changed history in the database; the auditor has seen the original one.
    await edit((rows) => rows.map((row) => (row.seq === seqAt(4) ? { ...row, resource: 'db:other' } : row)));
    await writeAnchor(dir(), await rebuild());
  },
  key: async () => {
    const { origin } = (await readLog(db())) as { origin: string };
    const other = noteSigner(origin, randomBytes(32));
    const signed = openCheckpoint(keptNote, await signersOf(t.legate.platform, origin));
    const note = signCheckpoint(signed as never, [other]);
    const resigned = (text: string) =>
      text.replace(keptNote, note).replace(JSON.stringify(keptNote), JSON.stringify(note));
    return { proof: (_, proof) => resigned(proof), export: resigned, consistency: resigned };
  },
  'back-dated': () => rewrite(appended(-1)),
  invented: () => rewrite(appended(1)),
  'left-out': async () => ({
    export: (text) => text.replace(/^\{"leaf":"legate-entry-v1\\u0000audit.*\n/m, ''),
  }),
  filtered: async () => {
    const text = await (await t.legate.ledger.export({ action: 'read' })).text();
    const lines = linesOf(text);
    expect(lines.length).toBeGreaterThan(3);
    return { export: () => `${[...lines.slice(0, 1), ...lines.slice(2)].join('\n')}\n` };
  },
  'erased-secretly': () => erase(seqAt(3), false),
  'erased-whole': () => erase(seqAt(3), true),
  'erased-more': async () => {
    const left = await db().selectFrom('seal_remains').select('erased_by').where('seq', '=', seqAt(1)).execute();
    await erase(seqAt(1), true, { erased_by: left[0]?.erased_by ?? null });
  },
  'erased-openly': async () => {
    const seqs = `${seqAt(3)}`;
    const data = JSON.stringify({ what: 'entry', seqs, erased: 1, of: 1 });
    await edit(appended(1, { type: 'audit.erased', data }));
    const { seq } = await db().selectFrom('head').select('seq').executeTakeFirstOrThrow();
    await erase(seqAt(3), true, { erased_by: seq });
    await writeAnchor(dir(), await rebuild());
  },
  'erased-ahead': async () => {
    const by = await recordAhead('audit.erased', (seq) => ({ what: 'entry', seqs: `${seq}`, erased: 1, of: 1 }));
    await erase(by + 1, true, { erased_by: by });
  },
  'pruned-ahead': async () => {
    const by = await recordAhead('ledger.pruned', (seq) => ({ below: seq + 1 }));
    await setPosition(db(), 'audit/retention/recorded', by + 1);
    await db()
      .deleteFrom('stream_events')
      .where('seq', '=', by + 1)
      .execute();
  },
  'dropped-unsealed': () => rewrite((rows) => appended(1)(appended(1)(rows)).filter((_, i) => i !== rows.length)),
  'pruned-secretly': async () => {
    await db().deleteFrom('stream_events').where('seq', '<=', seqAt(0)).execute();
    await setPosition(db(), PRUNING, seqAt(0));
  },
  'altered-erased': () =>
    edit((rows) => rows.map((row) => (row.seq === seqAt(1) ? { ...row, parameters: '{"note":"y"}' } : row))),
  'altered-event': async () => {
    const [seq, leaf] = [...keptLeaves].find(([, text]) => text.includes('\0agent.created\0')) as [number, string];
    const [, type, , timestamp] = leaf.split('\0');
    await edit((rows) => rows.map((row) => (row.seq === seq ? { ...row, data: '{"agentId":"other"}' } : row)));
    await erase(seq, false, { type: type as string, timestamp: Number(timestamp) });
  },
  'pruned-as-event': () => erase(seqAt(3), true, { type: 'agent.updated' }),
  claimed: async () => ({
    proof: (seq, proof) => {
      const extra = JSON.stringify({ leaf: leafOf(proof), private: `legate-private-v1\0${'a1'.repeat(16)}\0{}\0\0` });
      return seq === seqAt(1) ? proof.replace(/^extra .*$/m, `extra ${Buffer.from(extra).toString('base64')}`) : proof;
    },
  }),
};

const fails = async (attempt: () => Promise<unknown>): Promise<boolean> => {
  try {
    await attempt();
    return false;
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return true;
  }
};

/** Tries every artefact. Returns those that reveal the attack. */
async function findings(lies: Lies): Promise<string[]> {
  const { ledger, platform } = t.legate;
  const told = (text: string): string => text;
  const size = Number(keptNote.split('\n')[1]);
  const artefacts: Record<string, () => Promise<unknown>> = {
    'new proof': async () => {
      for (const [seq, leaf] of keptLeaves) {
        const proof = (lies.proof ?? ((_, text) => text))(seq, await ledger.proof(seq));
        verifyProof(proof, policy);
        if (!lies.unseen) expect(leafOf(proof)).toBe(leaf);
      }
    },
    export: async () => {
      const proven = verifyExport(linesOf((lies.export ?? told)(await exported())), policy);
      expect([proven.unexplained, proven.unrecorded]).toEqual([[], []]);
    },
    check: async () => expect(await checkSealedLedger(platform)).not.toHaveProperty('problem'),
    start: async () => {
      const anchor = readAnchor(platform.config.dataDir);
      await assertContinues(platform, (await readLog(db())) as SealRow, anchor);
    },
    'kept checkpoint': async () => {
      if (lies.unseen) return;
      const answer = JSON.stringify(await ledger.consistency(size));
      verifyConsistency(keptNote, (lies.consistency ?? told)(answer), policy);
    },
    witness: async () => {
      if (lies.unseen) return;
      const folder = mkdtempSync(join(tmpdir(), 'legate-witness-'));
      const witness = openWitness({ name: 'witness.example', logs: keys, folder });
      try {
        expect(witness.addCheckpoint(`old 0\n\n${keptNote}`).status).toBe(200);
        const answer = (lies.consistency ?? told)(JSON.stringify(await ledger.consistency(size)));
        const { proof, checkpoint } = JSON.parse(answer) as { proof: string[]; checkpoint: string };
        const request = `old ${size}\n${proof.map((hash) => `${hash}\n`).join('')}\n${checkpoint}`;
        expect(witness.addCheckpoint(request).status).toBe(200);
      } finally {
        witness.close();
        rmSync(folder, { recursive: true });
      }
    },
  };
  const found = [];
  for (const [name, attempt] of Object.entries(artefacts)) if (await fails(attempt)) found.push(name);
  return found;
}

beforeAll(async () => {
  t = await createTestService({ lasting: true, config: SEALED });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  decisions = [];
  const decide = async () => {
    t.clock.advance(10);
    const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x', arguments: { note: 'x' } });
    decisions.push((await t.legate.platform.reader.byId(body.auditId, 0))?.seq as number);
    return body.auditId;
  };
  const ids = [await decide(), await decide(), await decide()];
  await t.legate.ledger.erase({ auditIds: [ids[1]] });
  await t.legate.ledger.erase({ auditIds: [ids[2]], what: 'entry' });
  await t.legate.ledger.proof(await decide());
  earlier = await copy();
  earlierAnchor = readAnchor(dir()) as string;
  await decide();
  await t.legate.ledger.proof(await decide());
  keys = (await t.legate.ledger.keys()).keys;
  policy = policyOfKeys(keys.map(parseKey));
  keptNote = await t.legate.ledger.checkpoint();
  for (let seq = 1; seq <= Number(keptNote.split('\n')[1]); seq++)
    if (seq !== decisions[2]) keptLeaves.set(seq, leafOf(await t.legate.ledger.proof(seq)));
  now = await copy();
});

it('this file has a test for exactly the attacks of the table', () => {
  expect(Object.keys(ATTACKS)).toEqual(TABLE.map(({ name }) => name));
  expect(new Set(TABLE.map(({ attack }) => attack)).size).toBe(TABLE.length);
});

it('no artefact accuses an honest server', async () => {
  expect(await findings({})).toEqual([]);
});

it.each(TABLE)('$name: $attack', async ({ name, found }) => {
  try {
    const lies = ((await ATTACKS[name]?.()) ?? {}) as Lies;
    expect(await findings(lies)).toEqual(found);
  } finally {
    await restore(now);
    for (const name of [PRUNING, 'audit/retention/recorded']) await setPosition(db(), name, 0);
    await writeAnchor(dir(), keptNote);
  }
});
