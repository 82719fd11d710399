import { z } from 'zod';
import type { Visibility } from '../../access/principal.ts';
import { LegateError } from '../../kernel/errors.ts';
import { Erasure } from '../../ledger/index.ts';
import { type Call, defineRoute, type Platform } from '../../platform.ts';
import { AuditErrors } from '../audit/errors.ts';
import { getAuditRow } from '../audit/index.ts';
import { eraseEntries } from './erasure/erase-entries.ts';
import { AskErasure } from './erasure/schema.ts';
import { SealErrors } from './errors.ts';
import { consistencyProof, proofOf, readBundle, readTile } from './proofs.ts';
import { ledgerKeys, ledgerLogs, ledgerStatus } from './read-log.ts';
import {
  AskCheckpoints,
  AskConsistency,
  AskProof,
  AskRowProof,
  Checkpoints,
  Consistency,
  LedgerKeys,
  LedgerLogs,
  LedgerStatus,
  OfLog,
} from './schema.ts';
import { assertCurrent, checkpointsAround, servedLog } from './served-log.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true } as const;

/** Anyone may read the log, or every authenticated caller with `ledger.proofs=authenticated`. */
const PUBLIC = { access: 'public', crossOrigin: true, checksItself: ['none', 'bearer', 'cookie'] } as const;

async function assertMayRead(
  { authenticateAs }: Pick<Call<unknown, unknown, unknown>, 'authenticateAs'>,
  { config }: Pick<Platform, 'config'>,
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

/** Tiles never change. If the log requires a credential, shared caches must not store them. */
const octets = (bytes: Buffer, isPublic: boolean): Response =>
  new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': 'application/octet-stream',
      'cache-control': `${isPublic ? 'public' : 'private'}, max-age=31536000, immutable`,
      'x-content-type-options': 'nosniff',
    },
  });

async function auditProof(
  platform: Pick<Platform, 'database' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  id: string,
  withhold: boolean,
): Promise<Response> {
  const { seq } = await getAuditRow(platform, visibility, id);
  const proof = await proofOf(platform, seq, withhold).catch((error: unknown) => {
    // The whole entry has been erased since.
    const isGone = error instanceof LegateError && error.code === SealErrors.LEDGER_ROW_NOT_FOUND.code;
    throw isGone ? AuditErrors.AUDIT_ENTRY_NOT_FOUND() : error;
  });
  return plain(proof, {
    'content-disposition': `attachment; filename="${id}.tlog-proof"`,
  });
}

const proofErrors = [SealErrors.NOT_YET_SEALED, SealErrors.SEALED_ROW_DIFFERS, SealErrors.LEDGER_NOT_SEALED];

/** The paths of the current log have no parameter, so `log` is undefined. */
const OfCurrentLog = z.object({}) as unknown as z.ZodObject<{ log: z.ZodOptional<z.ZodString> }>;

/**
 * The endpoints of a log: /ledger for the current log, /ledger/{log} for any log by its id. A log that ended still
 * serves its checkpoints and hashes, but no proofs of entries.
 */
function logRoutes(at: string, of: string, params: z.ZodObject<{ log: z.ZodOptional<z.ZodString> | z.ZodString }>) {
  const absent = of === '' ? [] : [SealErrors.LEDGER_LOG_NOT_FOUND];
  const ended = of === '' ? [] : [SealErrors.LEDGER_LOG_ENDED];
  return [
    defineRoute({
      method: 'GET',
      path: `${at}/checkpoint`,
      summary: `Get the newest checkpoint of the ledger${of}`,
      description:
        'A signed note (C2SP tlog-checkpoint): name of the log, number of rows, root of the tree, signature.',
      ...PUBLIC,
      params,
      responses: { 200: { mediaTypes: ['text/plain'] } },
      errors: [...absent, SealErrors.LEDGER_NOT_SEALED],
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        return plain((await servedLog(platform, call.params.log)).checkpoint);
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/tile/entries/:tile{.+}`,
      summary: `Get the leaves of a tile${of}`,
      description: 'An entry bundle (C2SP tlog-tiles): each leaf with its length in two bytes.',
      access: 'admin',
      params: params.extend({ tile: z.string() }),
      responses: { 200: { mediaTypes: ['application/octet-stream'] } },
      errors: [
        ...absent,
        ...ended,
        SealErrors.LEDGER_TILE_NOT_FOUND,
        SealErrors.SEALED_ROW_DIFFERS,
        SealErrors.LEDGER_NOT_SEALED,
      ],
      handle: async (call, platform) => {
        await assertCurrent(platform, call.params.log);
        return octets(await readBundle(platform, `entries/${call.params.tile}`), false);
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/tile/:tile{.+}`,
      summary: `Get hashes of the tree${of}`,
      description:
        'A tile of up to 256 hashes (C2SP tlog-tiles) at `<level>/<number>` or `<level>/<number>.p/<width>`.',
      ...PUBLIC,
      params: params.extend({ tile: z.string() }),
      responses: { 200: { mediaTypes: ['application/octet-stream'] } },
      errors: [...absent, SealErrors.LEDGER_TILE_NOT_FOUND, SealErrors.LEDGER_NOT_SEALED],
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        const log = await servedLog(platform, call.params.log);
        return octets(await readTile(platform, log, call.params.tile), platform.config.ledger.proofs === 'public');
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/consistency`,
      summary: `Prove that the ledger was only appended to${of}`,
      description: 'The proof that the tree of `from` rows is the beginning of the tree of `to` rows.',
      ...PUBLIC,
      query: AskConsistency,
      params,
      responses: { 200: Consistency },
      errors: [
        ...absent,
        SealErrors.INVALID_TREE_RANGE,
        SealErrors.LEDGER_TILE_NOT_FOUND,
        SealErrors.LEDGER_NOT_SEALED,
      ],
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        const { from, to } = call.query;
        return {
          status: 200,
          body: await consistencyProof(platform, await servedLog(platform, call.params.log), from, to),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/checkpoints`,
      summary: `Get the checkpoints next to a row${of}`,
      description:
        'Only kept checkpoints are returned: one a minute, one an hour after 7 days, one a day after 90 days.',
      ...PUBLIC,
      params,
      query: AskCheckpoints,
      responses: { 200: Checkpoints },
      errors: [...absent, SealErrors.LEDGER_NOT_SEALED],
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        const log = await servedLog(platform, call.params.log);
        return { status: 200, body: await checkpointsAround(platform, log, call.query.around) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/keys`,
      summary: `List the verifier keys of the ledger${of}`,
      description: 'Trust a key because its owner published it elsewhere, not because this answer names it.',
      ...PUBLIC,
      params,
      responses: { 200: LedgerKeys },
      errors: [...absent, SealErrors.LEDGER_NOT_SEALED],
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        return { status: 200, body: await ledgerKeys(platform, call.params.log) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/logs`,
      summary: `List the logs of this ledger${of}`,
      description: 'The current log, and logs that ended because the database was restored.',
      ...PUBLIC,
      params,
      responses: { 200: LedgerLogs },
      errors: absent,
      handle: async (call, platform) => {
        await assertMayRead(call, platform);
        if (call.params.log !== undefined) await servedLog(platform, call.params.log);
        return { status: 200, body: await ledgerLogs(platform) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/status`,
      summary: `Get the state of sealing${of}`,
      access: 'admin',
      params,
      responses: { 200: LedgerStatus },
      errors: absent,
      handle: async (call, platform) => ({ status: 200, body: await ledgerStatus(platform, call.params.log) }),
    }),
    defineRoute({
      method: 'GET',
      path: `${at}/proof`,
      summary: `Prove that a row is in the ledger${of}`,
      description: 'Like GET /audit/{id}/proof, for a row of any type.',
      access: 'admin',
      query: AskRowProof,
      params,
      responses: { 200: { mediaTypes: ['text/plain'] } },
      errors: [...absent, ...ended, SealErrors.LEDGER_ROW_NOT_FOUND, ...proofErrors],
      handle: async (call, platform) => {
        await assertCurrent(platform, call.params.log);
        const { seq, private: hidden } = call.query;
        return plain(await proofOf(platform, seq, hidden === 'withhold'), {
          'content-disposition': `attachment; filename="row-${seq}.tlog-proof"`,
        });
      },
    }),
  ];
}

/** The sealed ledger over HTTP: C2SP tlog-tiles and tlog-proof. */
export const sealRoutes = [
  ...logRoutes('/ledger', '', OfCurrentLog),
  ...logRoutes('/ledger/:log{[0-9a-f]+}', ' of a log by its id', OfLog),
  defineRoute({
    method: 'GET',
    path: '/audit/:id/proof',
    summary: 'Prove that an audit entry is in the ledger',
    description:
      'A file that anyone can check offline with npx legate verify and the key of the ledger (C2SP tlog-proof). It ' +
      'contains the entry. An entry that no checkpoint covers yet is sealed immediately.',
    access: mayRead,
    params: z.object({ id: z.string() }),
    query: AskProof,
    responses: { 200: { mediaTypes: ['text/plain'] } },
    errors: [AuditErrors.AUDIT_ENTRY_NOT_FOUND, ...proofErrors],
    handle: (call, platform) =>
      auditProof(platform, call.visibility, call.params.id, call.query.private === 'withhold'),
  }),
  defineRoute({
    method: 'POST',
    path: '/audit/erasures',
    summary: 'Erase audit entries',
    description:
      'Erases parameters, addresses and user agents of the entries that match all members of the request, and their ' +
      'copies in approvals and webhook deliveries. Agent, action, result and time remain and can still be proven. ' +
      'The ledger records the erasure as `audit.erased`.',
    access: 'admin',
    preview: true,
    body: AskErasure,
    responses: { 200: Erasure },
    errors: [SealErrors.ENTRY_ERASURE_OFF, SealErrors.NOT_YET_SEALED, SealErrors.SEALED_ROW_DIFFERS],
    handle: async (call, platform) => {
      const { what, ...selection } = call.body;
      return { status: 200, body: await eraseEntries(platform, call, selection, what) };
    },
  }),
];
