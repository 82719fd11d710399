import { z } from 'zod';
import type { Visibility } from '../../access/principal.ts';
import { type Call, defineRoute, type Platform } from '../../platform.ts';
import { AuditErrors } from '../audit/errors.ts';
import { getAuditRow } from '../audit/index.ts';
import { SealErrors } from './errors.ts';
import { consistencyProof, newestCheckpoint, proofOf, readBundle, readTile } from './proofs.ts';
import { ledgerKeys, ledgerLogs, ledgerStatus } from './read-log.ts';
import { AskConsistency, AskProof, AskRowProof, Consistency, LedgerKeys, LedgerLogs, LedgerStatus } from './schema.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true } as const;

/** Anyone may read the log, or every authenticated caller with `ledger.proofs=authenticated`. */
const PUBLIC = { access: 'public', crossOrigin: true, checksItself: ['none', 'bearer', 'cookie'] } as const;

async function assertMayRead(
  { authenticateAs }: Pick<Call<unknown, unknown, unknown>, 'authenticateAs'>,
  { config }: Platform,
): Promise<void> {
  if (config.ledger.proofs === 'authenticated') await authenticateAs(mayRead);
}

const plain = (text: string, headers: Record<string, string> = {}): Response =>
  new Response(text, {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  });

/** Tiles never change. Those of a log that needs a credential stay with the caller. */
const octets = (bytes: Buffer, isPublic: boolean): Response =>
  new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': 'application/octet-stream',
      'cache-control': `${isPublic ? 'public' : 'private'}, max-age=31536000, immutable`,
      'x-content-type-options': 'nosniff',
    },
  });

async function auditProof(
  platform: Platform,
  visibility: Visibility,
  id: string,
  withhold: boolean,
): Promise<Response> {
  const { seq } = await getAuditRow(platform, visibility, id);
  return plain(await proofOf(platform, seq, withhold), {
    'content-disposition': `attachment; filename="${id}.tlog-proof"`,
  });
}

const proofErrors = [SealErrors.NOT_YET_SEALED, SealErrors.SEALED_ROW_DIFFERS, SealErrors.LEDGER_NOT_SEALED];

/** The sealed ledger over HTTP: C2SP tlog-tiles and tlog-proof. */
export const sealRoutes = [
  defineRoute({
    method: 'GET',
    path: '/ledger/checkpoint',
    summary: 'Get the newest checkpoint of the ledger',
    description: 'A signed note (C2SP tlog-checkpoint): name of the log, number of rows, root of the tree, signature.',
    ...PUBLIC,
    responses: { 200: { mediaTypes: ['text/plain'] } },
    errors: [SealErrors.LEDGER_NOT_SEALED],
    handle: async (call, platform) => {
      await assertMayRead(call, platform);
      return plain((await newestCheckpoint(platform)).checkpoint);
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/tile/entries/:tile{.+}',
    summary: 'Get the leaves of a tile',
    description: 'An entry bundle (C2SP tlog-tiles): each leaf with its length in two bytes.',
    access: 'admin',
    params: z.object({ tile: z.string() }),
    responses: { 200: { mediaTypes: ['application/octet-stream'] } },
    errors: [SealErrors.LEDGER_TILE_NOT_FOUND, SealErrors.SEALED_ROW_DIFFERS, SealErrors.LEDGER_NOT_SEALED],
    handle: async (call, platform) => octets(await readBundle(platform, `entries/${call.params.tile}`), false),
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/tile/:tile{.+}',
    summary: 'Get hashes of the tree',
    description: 'A tile of up to 256 hashes (C2SP tlog-tiles) at `<level>/<number>` or `<level>/<number>.p/<width>`.',
    ...PUBLIC,
    params: z.object({ tile: z.string() }),
    responses: { 200: { mediaTypes: ['application/octet-stream'] } },
    errors: [SealErrors.LEDGER_TILE_NOT_FOUND, SealErrors.LEDGER_NOT_SEALED],
    handle: async (call, platform) => {
      await assertMayRead(call, platform);
      return octets(await readTile(platform, call.params.tile), platform.config.ledger.proofs === 'public');
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/consistency',
    summary: 'Prove that the ledger was only appended to',
    description: 'The proof that the tree of `from` rows is the beginning of the tree of `to` rows.',
    ...PUBLIC,
    query: AskConsistency,
    responses: { 200: Consistency },
    errors: [SealErrors.INVALID_TREE_RANGE, SealErrors.LEDGER_NOT_SEALED],
    handle: async (call, platform) => {
      await assertMayRead(call, platform);
      const { from, to } = call.query;
      return { status: 200, body: await consistencyProof(platform, from, to) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/keys',
    summary: 'List the verifier keys of the ledger',
    description: 'Trust a key because its owner published it elsewhere, not because this answer names it.',
    ...PUBLIC,
    responses: { 200: LedgerKeys },
    errors: [SealErrors.LEDGER_NOT_SEALED],
    handle: async (call, platform) => {
      await assertMayRead(call, platform);
      return { status: 200, body: await ledgerKeys(platform) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/logs',
    summary: 'List the logs of this ledger',
    description: 'The log that is written now, and those that ended because the database was restored.',
    ...PUBLIC,
    responses: { 200: LedgerLogs },
    handle: async (call, platform) => {
      await assertMayRead(call, platform);
      return { status: 200, body: await ledgerLogs(platform) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/status',
    summary: 'Get the state of sealing',
    access: 'admin',
    responses: { 200: LedgerStatus },
    handle: async (_, platform) => ({ status: 200, body: await ledgerStatus(platform) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/ledger/proof',
    summary: 'Prove that a row is in the ledger',
    description: 'As GET /audit/{id}/proof, for a row of any type.',
    access: 'admin',
    query: AskRowProof,
    responses: { 200: { mediaTypes: ['text/plain'] } },
    errors: [SealErrors.LEDGER_ROW_NOT_FOUND, ...proofErrors],
    handle: async (call, platform) => {
      const { seq, private: hidden } = call.query;
      return plain(await proofOf(platform, seq, hidden === 'withhold'), {
        'content-disposition': `attachment; filename="row-${seq}.tlog-proof"`,
      });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/:id/proof',
    summary: 'Prove that an audit entry is in the ledger',
    description:
      'A file that anyone can check offline with npx legate verify and the key of the ledger (C2SP tlog-proof). It ' +
      'contains the entry. An entry that no checkpoint covers yet is sealed at once.',
    access: mayRead,
    params: z.object({ id: z.string() }),
    query: AskProof,
    responses: { 200: { mediaTypes: ['text/plain'] } },
    errors: [AuditErrors.AUDIT_ENTRY_NOT_FOUND, ...proofErrors],
    handle: (call, platform) =>
      auditProof(platform, call.visibility, call.params.id, call.query.private === 'withhold'),
  }),
];
