import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asQuery, type InProcess, type OneOrMore } from '../../access/in-process.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { acknowledgeAnomaly } from './acknowledge-anomaly.ts';
import { detectorOf } from './detector.ts';
import { Acknowledgement, type Anomaly, AnomalyFilter } from './schema.ts';
import { findAnomalies, getAnomalyRow, toAnomaly } from './store.ts';

const MAX = 1000;

/**
 * `legate.anomalies`: the endpoints under /anomalies as functions, with the rights of an admin. Throws {@link
 * LegateError}.
 */
export interface AnomaliesApi {
  /** Returns the newest thousand matches, up to date with all recorded decisions. */
  list(filter?: OneOrMore<InProcess<z.input<typeof AnomalyFilter>>>): Promise<Anomaly[]>;
  get(id: string): Promise<Anomaly>;
  acknowledge(id: string, input?: z.input<typeof Acknowledgement>): Promise<Anomaly>;
}

export function anomaliesApi(platform: Pick<Platform, 'database' | 'ledger' | 'stateOf'>, actor: Actor): AnomaliesApi {
  const all = { kind: 'all' } as const;
  const db = platform.database.read;
  return {
    list: async (filter = {}) => {
      const parsed = asQuery(AnomalyFilter, filter);
      await detectorOf(platform).look();
      return (await findAnomalies(db, all, parsed, { after: undefined, limit: MAX })).map(toAnomaly);
    },
    get: async (id) => toAnomaly(await getAnomalyRow(db, all, asId('anomaly', id))),
    acknowledge: async (id, input = {}) =>
      acknowledgeAnomaly(
        platform,
        applicationCaller(actor),
        asId('anomaly', id),
        parseWith(Acknowledgement, input).note,
      ),
  };
}
