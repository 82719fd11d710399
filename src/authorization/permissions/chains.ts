import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { Tables } from '../../storage/index.ts';

/** From `endsAt` on, a delegation grants nothing; null: it has no end. */
export const hasEnded = (endsAt: number | null, now: number): boolean => endsAt !== null && now >= endsAt;

const eb = expressionBuilder<Tables & { readonly d: Tables['delegations'] }, 'delegations' | 'd'>();

/** Not revoked and not ended, for queries on `delegations`, also under the alias `d`. */
export const isLivingDelegation = (now: number, table: 'delegations' | 'd' = 'delegations'): Expression<SqlBool> =>
  eb.and([
    eb(`${table}.revoked_at`, 'is', null),
    eb.or([eb(`${table}.ends_at`, 'is', null), eb(`${table}.ends_at`, '>', now)]),
  ]);
