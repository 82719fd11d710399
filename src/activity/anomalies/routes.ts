import { z } from 'zod';
import { afterCursor, cutPage, nextPage } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute, type Platform } from '../../platform.ts';
import { isUnavailable } from '../../storage/index.ts';
import { acknowledgeAnomaly } from './acknowledge-anomaly.ts';
import { detectorOf } from './detector.ts';
import { AnomalyErrors } from './errors.ts';
import { Acknowledgement, Anomaly, ListAnomalies } from './schema.ts';
import { findAnomalies, getAnomalyRow, toAnomaly } from './store.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: false } as const;
const { ANOMALY_NOT_FOUND } = AnomalyErrors;

/** Runs the detector before a read. If the database is read-only, the read succeeds and the run happens later. */
const noted =
  ({ log }: Pick<Platform, 'log'>) =>
  (error: unknown): void => {
    if (!isUnavailable(error)) throw error;
    log.warn({ err: error }, 'anomalies are listed without a look at the newest decisions');
  };

/** Contract 14. */
export const anomalyRoutes = [
  defineRoute({
    method: 'GET',
    path: '/anomalies',
    summary: 'List anomalies',
    description:
      'Newest first, every decision that is recorded by now considered. A Link header with rel="next" points to the ' +
      'next page.',
    access: mayRead,
    query: ListAnomalies,
    responses: { 200: z.array(Anomaly) },
    handle: async (call, platform) => {
      await detectorOf(platform).look().catch(noted(platform));
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findAnomalies(platform.database.read, call.visibility, filter, {
          after: afterCursor('anomaly', cursor),
          limit: limit + 1,
        }),
        limit,
      );
      return { status: 200, body: rows.map(toAnomaly), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/anomalies/:id',
    summary: 'Get an anomaly',
    access: mayRead,
    params: idParams('anomaly'),
    responses: { 200: Anomaly },
    errors: [ANOMALY_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toAnomaly(await getAnomalyRow(platform.database.read, call.visibility, call.params.id)),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/anomalies/:id/acknowledge',
    summary: 'Acknowledge an anomaly',
    description: 'Later acknowledgements do not change the first one.',
    access: 'user',
    params: idParams('anomaly'),
    body: Acknowledgement,
    bodyOptional: true,
    responses: { 200: Anomaly },
    errors: [ANOMALY_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await acknowledgeAnomaly(platform, call, call.params.id, call.body.note),
    }),
  }),
];
