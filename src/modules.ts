import { account } from './account/index.ts';
import { agents } from './agents/index.ts';
import { anomalies } from './anomalies/index.ts';
import { apiTokens } from './api-tokens/index.ts';
import { approvals } from './approvals/index.ts';
import { audit } from './audit/index.ts';
import { authzen } from './authzen/index.ts';
import { breach } from './breach/index.ts';
import { costs } from './costs/index.ts';
import { dashboard } from './dashboard/index.ts';
import { delegations } from './delegations/index.ts';
import { events } from './events/index.ts';
import { mcp } from './mcp/index.ts';
import { oauth } from './oauth/index.ts';
import { passwordless } from './passwordless/index.ts';
import { permissions } from './permissions/index.ts';
import type { Module } from './platform.ts';
import { secondFactor } from './second-factor/index.ts';
import { sessions } from './sessions/index.ts';
import { system } from './system/index.ts';
import { tenants } from './tenants/index.ts';
import { users } from './users/index.ts';
import { webhooks } from './webhooks/index.ts';

/** THE LIST. Router, OpenAPI, error and route docs, the permission matrix of the tests: all follow from it. */
// biome-ignore format: a line each
export const modules: readonly Module[] = [
  permissions,
  tenants,
  breach,
  sessions,
  users,
  secondFactor,
  passwordless,
  account,
  apiTokens,
  agents,
  delegations,
  approvals,
  audit,
  mcp,
  oauth,
  authzen,
  events,
  webhooks,
  costs,
  anomalies,
  dashboard,
  system,
];
