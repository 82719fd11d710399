import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoMoment, isoTimestamp, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { KINDS, SEVERITIES } from './detect.ts';

const Status = z.enum(['open', 'acknowledged']);
const Measure = z.union([z.number(), z.string()]);

/** Unusual behaviour of an agent (contract 14). */
export const Anomaly = z
  .object({
    id: z.string(),
    agentId: z.string(),
    kind: z.enum(KINDS),
    severity: z.enum(SEVERITIES),
    observed: Measure.meta({ description: 'Measured value, in the unit of the kind.' }),
    expected: Measure.meta({ description: 'Usual value.' }),
    evidence: z.array(z.string()).meta({ description: 'Audit entries, oldest first.' }),
    status: Status,
    detectedAt: isoTimestamp.meta({ description: 'Time of the decision that completed it.' }),
    acknowledgedAt: isoTimestamp.nullable(),
    acknowledgedBy: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'Anomaly' });
export type Anomaly = z.output<typeof Anomaly>;

export const AnomalyFilter = z.strictObject({
  agentId: anyOf(idOf('agent', text(64))),
  kind: anyOf(z.enum(KINDS)),
  severity: anyOf(z.enum(SEVERITIES)),
  status: anyOf(Status),
  since: isoMoment.optional(),
  until: isoMoment.optional(),
  ...OwnerFilter,
});
export type AnomalyFilter = z.output<typeof AnomalyFilter>;
export const ListAnomalies = PageQuery.extend(AnomalyFilter.shape);
export const Acknowledgement = z.strictObject({ note: text(1000).optional() });
