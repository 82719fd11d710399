import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asQuery, type OneOrMore } from '../../access/in-process.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { resolveApproval } from './resolve-approval.ts';
import { type Approval, ApprovalFilter, Resolution } from './schema.ts';
import { findApprovals, getApproval, toApproval } from './store.ts';

const MAX = 1000;

/**
 * `legate.approvals`: the endpoints under /approvals as functions, with the rights of an admin. They throw {@link
 * LegateError}.
 */
export interface ApprovalsApi {
  /** The newest 1,000 that match the filter. */
  list(filter?: OneOrMore<z.input<typeof ApprovalFilter>>): Promise<Approval[]>;
  get(id: string): Promise<Approval>;
  approve(id: string, input?: z.input<typeof Resolution>): Promise<Approval>;
  deny(id: string, input?: z.input<typeof Resolution>): Promise<Approval>;
}

export function approvalsApi(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'redactedKeys'>,
  actor: Actor,
): ApprovalsApi {
  const all = { kind: 'all' } as const;
  const caller = applicationCaller(actor);
  const db = platform.database.read;
  const resolve =
    (status: 'approved' | 'denied') =>
    async (id: string, input: z.input<typeof Resolution> = {}) =>
      resolveApproval(platform, caller, asId('approval', id), status, parseWith(Resolution, input).note);
  return {
    list: async (filter = {}) => {
      const now = platform.clock.now();
      return (await findApprovals(db, all, asQuery(ApprovalFilter, filter), MAX, now)).map((row) =>
        toApproval(row, now),
      );
    },
    get: async (id) => toApproval(await getApproval(db, all, asId('approval', id)), platform.clock.now()),
    approve: resolve('approved'),
    deny: resolve('denied'),
  };
}
