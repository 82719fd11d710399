import { expect } from 'vitest';
import type { EventType } from '../../src/ledger/index.ts';
import type { Json } from '../support/service.ts';

export const text = expect.any(String);
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-z]{26}$`));
export const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const agentId = id('agt');
const approval = { approvalId: id('apr'), agentId, action: 'pay', resource: 'bank:transfer' };

/** Types that report an occurrence, or the change of a secret. They have neither `before` nor `after`. */
export const WITHOUT_FIELDS =
  /^(audit|auth\..*|anomaly\.detected|budget\.exceeded|cost\.recorded|device\.answered|gateway\..*|\w+\.rotated)$/;

const grant = { clientId: text, agentId, scope: text, resource: text };
const pending = { status: 'pending', expiresAt: time };
/** `before` and `after` of the types whose events concern a status, or something that is created or ends. */
export const FIELDS: Partial<Record<EventType, readonly [before: Json, after: Json]>> = {
  'agent.revoked': [{ status: 'active' }, { status: 'revoked' }],
  'approval.requested': [undefined, pending],
  'approval.resolved': [
    { status: 'pending', resolvedAt: null, resolvedBy: null },
    { status: 'approved', resolvedAt: time, resolvedBy: text },
  ],
  'consent.remembered': [undefined, grant],
  'delegation.created': [
    undefined,
    {
      fromAgent: agentId,
      toAgent: agentId,
      permissions: [{ resource: 'db:x', actions: ['read'] }],
      depth: 1,
      maxDepth: 3,
      expiresAt: null,
    },
  ],
  'delegation.revoked': [{ status: 'active' }, { status: 'revoked' }],
  'grant.created': [undefined, grant],
  'grant.revoked': [grant, undefined],
  'grant.token_revoked': [{ scope: text, resource: text, expiresAt: time }, undefined],
  'session.ended': [{ createdAt: time, expiresAt: time }, undefined],
};

/** The exact fields of each event type (contract 13). */
export const PAYLOADS: Record<EventType, Json> = {
  audit: expect.objectContaining({
    id: id('aud'),
    agentId,
    action: text,
    resource: text,
    result: expect.stringMatching(/^(allowed|denied)$/),
  }),
  'audit.erased': { what: 'private', seqs: expect.stringMatching(/^[1-9]\d*$/), erased: 1, of: 1 },
  'agent.created': { agentId, name: text, ownerId: text, type: text },
  'agent.updated': { agentId, changed: ['name'] },
  'agent.revoked': { agentId, reason: 'revoked' },
  'agent.rotated': { agentId },
  'agent.keys': { agentId, set: true },
  'anomaly.detected': {
    anomalyId: id('ano'),
    agentId,
    kind: text,
    severity: text,
    observed: expect.any(Number),
    expected: expect.any(Number),
    evidence: expect.arrayContaining([id('aud')]),
  },
  'anomaly.acknowledged': { anomalyId: id('ano'), agentId },
  'approval.requested': { ...approval, status: 'pending', expiresAt: time },
  'approval.resolved': { ...approval, status: 'approved' },
  'auth.signin': { userId: text, sessionId: id('ses'), method: text, ipAddress: text, device: expect.any(Object) },
  'auth.signout': { userId: text, sessionId: id('ses'), reason: 'sign-out', ipAddress: text },
  'session.ended': { userId: text, sessionId: id('ses'), reason: 'sign-out' },
  'auth.failed': {
    userId: text,
    emailHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    method: 'password',
    reason: expect.stringMatching(/^INVALID_(EMAIL_OR_)?PASSWORD$/),
    ipAddress: text,
  },
  'auth.denied': { code: 'FORBIDDEN', method: 'GET', route: '/metrics', ip: text, count: 1 },
  'auth.limited': { code: 'TOO_MANY_TRIES', method: 'POST', route: '/totp/enable', ip: text, count: 1 },
  'budget.exceeded': { agentId, budgetId: id('bdg'), metric: 'cost', limit: 1, used: 1.5, window: 'day' },
  'gateway.call': {
    auditId: id('aud'),
    server: 'away',
    tool: 'x',
    outcome: 'unavailable',
    durationMs: expect.any(Number),
    resultBytes: 0,
    definition: null,
  },
  'gateway.connected': { server: 'secret', isNew: true },
  'gateway.disconnected': { server: 'secret', reason: 'deleted' },
  'gateway.restarted': { server: 'pinned' },
  'gateway.tool_changed': { server: 'pinned', tool: 'x', state: text, definition: expect.stringMatching(/^sha256-/) },
  'budget.created': { agentId, budgetId: id('bdg') },
  'budget.updated': { agentId, budgetId: id('bdg') },
  'budget.deleted': { agentId, budgetId: id('bdg') },
  'client.created': { clientId: text, name: 'Test client', origin: 'self' },
  'client.deleted': { clientId: text },
  'group.created': { groupId: id('sgr'), name: text, members: 0 },
  'group.updated': { groupId: id('sgr'), name: text, members: 0 },
  'group.deleted': { groupId: id('sgr'), name: text },
  'invite.created': { inviteId: id('inv'), role: 'user' },
  'invite.accepted': { inviteId: id('inv'), userId: text, role: 'user' },
  'issuer.created': { issuerId: id('iss'), name: text },
  'issuer.updated': { issuerId: id('iss'), name: text },
  'issuer.deleted': { issuerId: id('iss'), name: text },
  'invite.revoked': { inviteId: id('inv'), reason: 'revoked' },
  'ledger.begun': { rows: expect.any(Number), missing: expect.any(Number) },
  'ledger.pruned': { below: expect.any(Number) },
  'ledger.clock_reset': { from: time, to: time },
  'ledger.restored': {
    origin: text,
    size: expect.any(Number),
    root: text,
    restoredSize: expect.any(Number),
  },
  'ledger.key-added': { vkey: text },
  'ledger.key-retired': { vkey: text },
  'ledger.resumed': {},
  'ledger.stopped': { sealed: expect.any(Number) },
  'mcp.created': { serverId: id('mcp'), name: text },
  'mcp.updated': { serverId: id('mcp'), name: text },
  'mcp.deleted': { serverId: id('mcp'), name: text },
  'passkey.added': { passkeyId: id('pky'), userId: text, name: text },
  'passkey.removed': { passkeyId: id('pky'), userId: text, reason: 'removed' },
  'tenant.created': { tenantId: id('tnt'), name: text },
  'tenant.deleted': { tenantId: id('tnt'), name: text },
  'tenant.updated': { tenantId: id('tnt'), name: text },
  'trust.created': { agentId, trustId: id('tru'), issuer: text, subject: text },
  'trust.deleted': { agentId, trustId: id('tru'), issuer: text, subject: text },
  'token.created': { tokenId: id('tok'), userId: text, name: text },
  'token.revoked': { tokenId: id('tok'), userId: text, reason: 'revoked' },
  'user.created': { userId: text, role: 'user' },
  'user.deleted': { userId: text },
  'cost.recorded': { costId: id('cst'), agentId, amount: 1.5, currency: 'USD', tokens: 7, auditId: id('aud') },
  'delegation.created': {
    delegationId: id('dlg'),
    fromAgent: agentId,
    toAgent: agentId,
    permissions: [{ resource: 'db:x', actions: ['read'] }],
    depth: 1,
    expiresAt: null,
  },
  'delegation.revoked': { delegationId: id('dlg'), fromAgent: agentId, toAgent: agentId, reason: 'revoked' },
  'device.answered': { clientId: text, answer: 'allowed', agentId, scope: text, resource: text },
  'consent.remembered': { clientId: text, agentId, scope: text, resource: text },
  'grant.created': {
    grantId: id('grt'),
    clientId: text,
    agentId,
    reason: 'authorization_code',
    scope: text,
    resource: text,
  },
  'grant.revoked': { grantId: id('grt'), clientId: text, agentId, reason: 'revoked' },
  'grant.token_revoked': { grantId: id('grt'), clientId: text, agentId },
  'user.updated': { userId: text, changed: ['name'] },
  'webhook.created': { webhookId: id('whk') },
  'webhook.updated': { webhookId: id('whk'), changed: ['types'] },
  'webhook.deleted': { webhookId: id('whk') },
  'webhook.rotated': { webhookId: id('whk') },
};
