import type { Changer } from '../../../access/caller.ts';
import { type Condition, type Erasure, readDecided } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { SealErrors } from '../errors.ts';
import { deleteRows, erasePrivateFields, eraseRows } from './erase-rows.ts';
import type { Selection } from './schema.ts';

/**
 * Erases the matching audit entries: either their private fields, so that agent, action, result and time can still be
 * proven, or the whole entries, so that only their existence can be proven. Throws 403 ENTRY_ERASURE_OFF, 409
 * NOT_YET_SEALED and 409 SEALED_ROW_DIFFERS.
 */
export async function eraseEntries(
  platform: Pick<Platform, 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  caller: Changer,
  { userId, agentId, auditIds, before }: Selection,
  what: 'private' | 'entry' = 'private',
): Promise<Erasure> {
  if (what === 'entry' && !platform.config.audit.eraseEntries) throw SealErrors.ENTRY_ERASURE_OFF();
  const where: Condition[] = [{ field: 'type', values: ['audit'] }];
  if (userId !== undefined) where.push({ field: 'userId', values: [userId] });
  if (agentId !== undefined) where.push({ field: 'agentId', values: [agentId] });
  if (auditIds !== undefined) where.push({ field: 'id', values: auditIds });
  return eraseRows(
    platform,
    caller,
    { where, ...(before === undefined ? {} : { beforeSeq: await platform.reader.seqAt(before) }) },
    what === 'entry'
      ? { what, applies: ({ type }) => type === 'audit', erase: deleteRows }
      : {
          what,
          applies: ({ type, decided }) => type === 'audit' && !readDecided(decided).erased,
          erase: erasePrivateFields,
        },
  );
}
