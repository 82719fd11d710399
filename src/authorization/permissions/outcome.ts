import type { AuditRecord, Outcome } from '../../ledger/index.ts';
import type { GateResult } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { AuthorizeAnswer } from './question.ts';

/** The outcome of a decision that is recorded. */
export type Recorded = Outcome<AuthorizeAnswer> & { readonly record: AuditRecord };

/** JSON of ids generated here, which need no escaping. A third of the time of JSON.stringify. */
export function jsonOfIds([first, ...others]: readonly string[]): string {
  let json = `["${first}`;
  for (const id of others) json += `","${id}`;
  return `${json}"]`;
}

/** Adds the writes and events of the gates to those of the decision. */
export function withGateResults(outcome: Recorded, results: readonly GateResult[]): Recorded {
  const writes = [outcome.write, ...results.map((r) => r.write)].filter((w) => w !== undefined);
  const events = [...(outcome.events ?? []), ...results.flatMap((r) => r.events ?? [])];
  return {
    ...outcome,
    ...(writes.length > 0
      ? {
          write: async (db: Db) => {
            for (const write of writes) await write(db);
          },
        }
      : {}),
    ...(events.length > 0 ? { events } : {}),
  };
}
