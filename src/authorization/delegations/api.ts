import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asOverHttp, asQuery, type InProcess, type OneOrMore } from '../../access/in-process.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { listDelegationVersions, type PageOf, type VersionPage } from '../history/list-versions.ts';
import { createDelegation } from './create-delegation.ts';
import { delegationGraph } from './graph.ts';
import { revokeDelegation } from './revoke-delegation.ts';
import { CreateDelegation, type Delegation, DelegationFilter, type DelegationGraph, GraphQuery } from './schema.ts';
import { findDelegations, getDelegation, toDelegation } from './store.ts';

const PAGE = 1000;

/**
 * `legate.delegations`: the endpoints under /delegations as functions, with the rights of an admin. They take and
 * return the same shapes, and throw {@link LegateError}.
 */
export interface DelegationsApi {
  create(input: InProcess<z.input<typeof CreateDelegation>>): Promise<Delegation>;
  /** All active delegations that match the filter, oldest first, without pages. */
  list(filter?: OneOrMore<z.input<typeof DelegationFilter>>): Promise<Delegation[]>;
  get(id: string): Promise<Delegation>;
  /** Ends it together with all delegations that descend from it. */
  revoke(id: string): Promise<void>;
  /** The delegations around an agent, or all of them; `ended` includes those that have ended. */
  graph(query?: { agentId?: string; depth?: number; ended?: boolean }): Promise<DelegationGraph>;
  /** Its versions, newest first; `next` is the `cursor` of the next page. */
  history(id: string, page?: Partial<PageOf>): Promise<VersionPage>;
}

export function delegationsApi(
  platform: Pick<Platform, 'beforeLongPage' | 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>,
  actor: Actor,
): DelegationsApi {
  const all = { kind: 'all' } as const;
  const caller = applicationCaller(actor);
  return {
    create: async (input) => createDelegation(platform, caller, parseWith(CreateDelegation, asOverHttp(input))),
    list: async (filter = {}) => {
      const parsed = asQuery(DelegationFilter, filter);
      const now = platform.clock.now();
      const found: Delegation[] = [];
      let after: Id<'delegation'> | undefined;
      do {
        const page = { after, limit: PAGE };
        const { rows, next } = await findDelegations(platform, all, parsed, page, now);
        found.push(...rows.map(toDelegation));
        after = next === undefined ? undefined : rows.at(-1)?.id;
      } while (after !== undefined);
      return found;
    },
    get: async (id) =>
      toDelegation(await getDelegation(platform.database.read, all, asId('delegation', id), platform.clock.now())),
    revoke: (id) => revokeDelegation(platform, caller, asId('delegation', id)),
    graph: async ({ depth, ended, ...query } = {}) => {
      const written = {
        ...query,
        ...(depth === undefined ? {} : { depth: String(depth) }),
        ...(ended === undefined ? {} : { ended: String(ended) }),
      };
      return delegationGraph(platform, all, parseWith(GraphQuery, written));
    },
    history: (id, page) => listDelegationVersions(platform, all, asId('delegation', id), { limit: PAGE, ...page }),
  };
}
