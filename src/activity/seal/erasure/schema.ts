import { z } from 'zod';
import { idOf } from '../../../kernel/id-schema.ts';
import { isId } from '../../../kernel/ids.ts';
import { isoMoment, text } from '../../../kernel/json.ts';

const MAX_IDS = 1000;

export const ERASED = ['private', 'entry'] as const;

const Selected = {
  userId: idOf('user', text(128))
    .optional()
    .describe('Entries of the agents of this user, who may already be deleted.'),
  agentId: idOf('agent', text(64)).optional().describe('Entries of this agent.'),
  auditIds: z
    .array(z.string().refine((id) => isId('audit', id), 'must be the id of an audit entry'))
    .min(1)
    .max(MAX_IDS)
    .optional()
    .describe('These entries.'),
  before: isoMoment.optional().describe('Entries before this time.'),
  what: z
    .enum(ERASED)
    .default('private')
    .describe(
      'private: parameters, address and user agent. entry: the whole entry, if `audit.eraseEntries` allows it.',
    ),
};

export const AskErasure = z
  .strictObject(Selected)
  .refine(
    ({ userId, agentId, auditIds, before }) => [userId, agentId, auditIds, before].some((each) => each !== undefined),
    { path: ['auditIds'], message: 'userId, agentId, auditIds or before is required' },
  );

/** Selects the entries that match all of its members. */
export type Selection = Pick<z.output<typeof AskErasure>, 'userId' | 'agentId' | 'auditIds' | 'before'>;
