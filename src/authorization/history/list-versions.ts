import { sql } from 'kysely';
import type { Actor } from '../../access/actor.ts';
import type { Visibility } from '../../access/principal.ts';
import { rowsThatFit } from '../../http/page.ts';
import { isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { getAgentRow } from '../agents/store.ts';
import { DelegationErrors } from '../delegations/errors.ts';
import type { PolicyVersion } from './schema.ts';

export interface VersionPage {
  readonly versions: PolicyVersion[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}
export interface PageOf {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Versions of an agent, newest first. Throws 404 AGENT_NOT_FOUND and 400 for a cursor of another list. */
export async function listAgentVersions(
  platform: Pick<Platform, 'beforeLongPage' | 'database'>,
  visibility: Visibility,
  id: Id<'agent'>,
  page: PageOf,
): Promise<VersionPage> {
  const db = platform.database.read;
  await getAgentRow(db, visibility, id);
  return listVersions(platform, id, page, visibility.kind !== 'agent');
}

/**
 * Versions of a delegation, newest first, also after its end. Both sides see them; only the giving side sees addresses.
 * Throws 404 DELEGATION_NOT_FOUND and 400 for a cursor of another list.
 */
export async function listDelegationVersions(
  platform: Pick<Platform, 'beforeLongPage' | 'database'>,
  visibility: Visibility,
  id: Id<'delegation'>,
  page: PageOf,
): Promise<VersionPage> {
  const db = platform.database.read;
  const row = isId('delegation', id)
    ? await db.selectFrom('delegations').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  const isParty =
    row &&
    (visibility.kind === 'all' ||
      (visibility.kind === 'owner'
        ? row.from_owner === visibility.userId || row.to_owner === visibility.userId
        : row.from_agent === visibility.agentId || row.to_agent === visibility.agentId));
  if (!isParty) throw DelegationErrors.DELEGATION_NOT_FOUND();
  const seesAddresses =
    visibility.kind === 'all' || (visibility.kind === 'owner' && visibility.userId === row.from_owner);
  return listVersions(platform, id, page, seesAddresses);
}

/** A page ends early if it is many megabytes large. */
async function listVersions(
  { beforeLongPage, database }: Pick<Platform, 'beforeLongPage' | 'database'>,
  subject: string,
  { limit, cursor }: PageOf,
  seesAddresses: boolean,
): Promise<VersionPage> {
  let query = database.read.selectFrom('versions').where('subject', '=', subject).orderBy('seq', 'desc');
  if (cursor !== undefined) query = query.where('seq', '<', seqOfCursor(cursor, subject));
  const sizes = await query
    .select(sql<number>`octet_length(state)`.as('bytes'))
    .limit(limit + 1)
    .execute();
  // Each version shows fields of its own state and of the one before.
  const bytes = sizes.slice(0, limit).map((size, i) => Number(size.bytes) + Number(sizes[i + 1]?.bytes ?? 0));
  const { rows: fitting, bytes: length } = rowsThatFit(bytes);
  await beforeLongPage(length);
  const rows = await query
    .selectAll()
    .limit(fitting + 1)
    .execute();
  const shown = rows.slice(0, fitting);
  const versions = shown.map((row, i): PolicyVersion => {
    const { ip, reason, ...actor } = JSON.parse(row.actor) as Actor;
    const state = JSON.parse(row.state) as Fields;
    const previous = rows[i + 1];
    return {
      version: row.version,
      seq: row.seq,
      at: isoTime(row.timestamp),
      type: row.type,
      actor: { ...actor, ...(ip === undefined || !seesAddresses ? {} : { ip }) },
      ...(reason === undefined ? {} : { reason }),
      ...difference(previous && (JSON.parse(previous.state) as Fields), state),
    };
  });
  const last = shown.at(-1);
  return { versions, next: rows.length > fitting && last ? `${subject}.${last.seq}` : undefined };
}

function seqOfCursor(cursor: string, subject: string): number {
  const seq = cursor.startsWith(`${subject}.`) ? cursor.slice(subject.length + 1) : '';
  if (!/^[1-9]\d{0,14}$/.test(seq))
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  return Number(seq);
}

type Fields = Record<string, unknown>;

/** Fields that a state contains only while they have another value. */
const OTHERWISE: Fields = { ownerSuspended: false };

/** Returns the complete values of the fields that differ. The first version has all fields in `after`. */
function difference(before: Fields | undefined, after: Fields): { before: Fields; after: Fields } {
  if (!before) return { before: {}, after };
  const was: Fields = { ...OTHERWISE, ...before };
  const is: Fields = { ...OTHERWISE, ...after };
  const names = Object.keys(is).filter(
    (name) => Object.hasOwn(was, name) && JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  );
  const pick = (fields: Fields): Fields => Object.fromEntries(names.map((name) => [name, fields[name]]));
  return { before: pick(was), after: pick(is) };
}
