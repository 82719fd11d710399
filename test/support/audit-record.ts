import { asId } from '../../src/kernel/ids.ts';
import type { AuditRecord } from '../../src/ledger/index.ts';

/** An allowed call, for tests that pass a decision of their own to the ledger. */
export const allowedCall: AuditRecord = {
  id: asId('audit', 'aud_test'),
  agentId: asId('agent', 'agt_test'),
  userId: asId('user', 'usr_test'),
  action: 'read',
  resource: 'file:test',
  result: 'allowed',
  reason: null,
  durationMs: 0,
  tokensCost: null,
  parameters: null,
  ip: null,
  userAgent: null,
  delegationIds: null,
  decided: null,
};
