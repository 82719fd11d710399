import { anomalies } from './activity/anomalies/index.ts';
import { audit } from './activity/audit/index.ts';
import { changes } from './activity/changes/index.ts';
import { costs } from './activity/costs/index.ts';
import { dashboard } from './activity/dashboard/index.ts';
import { names } from './activity/names/index.ts';
import { seal } from './activity/seal/index.ts';
import { events } from './activity/stream/index.ts';
import { webhooks } from './activity/webhooks/index.ts';
import { agents } from './authorization/agents/index.ts';
import { approvals } from './authorization/approvals/index.ts';
import { authzen } from './authorization/authzen/index.ts';
import { delegations } from './authorization/delegations/index.ts';
import { history } from './authorization/history/index.ts';
import { permissions } from './authorization/permissions/index.ts';
import { webConsole } from './console/index.ts';
import { idempotency } from './http/idempotency/index.ts';
import { gateway } from './mcp/gateway/index.ts';
import { mcp } from './mcp/servers/index.ts';
import { oauth } from './oauth/index.ts';
import { system } from './operations/index.ts';
import { account } from './people/account-pages/index.ts';
import { apiTokens } from './people/api-tokens/index.ts';
import { federation } from './people/federation/index.ts';
import { breach } from './people/passwords/breach/index.ts';
import { scim } from './people/scim/index.ts';
import { sessions } from './people/sessions/index.ts';
import { passkeys } from './people/sign-in/passkeys/index.ts';
import { passwordless } from './people/sign-in/passwordless/index.ts';
import { secondFactor } from './people/sign-in/second-factor/index.ts';
import { tenants } from './people/tenants/index.ts';
import { users } from './people/users/index.ts';
import type { Module } from './platform.ts';

/** All modules. Router, OpenAPI, generated docs and the permission matrix of the tests are made from this list. */
// biome-ignore format: one module per line
export const modules: readonly Module[] = [
  permissions,
  tenants,
  breach,
  sessions,
  users,
  secondFactor,
  passwordless,
  passkeys,
  account,
  apiTokens,
  scim,
  federation,
  agents,
  delegations,
  history,
  approvals,
  audit,
  seal,
  changes,
  mcp,
  gateway,
  oauth,
  authzen,
  events,
  webhooks,
  costs,
  anomalies,
  dashboard,
  names,
  idempotency,
  system,
  webConsole,
];
