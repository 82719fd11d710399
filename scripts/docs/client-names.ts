import { z } from 'zod';
import type { MountedRoute } from '../../src/http/app.ts';
import { isPaged } from '../../src/http/openapi-answers.ts';

/** One operation as `legate/client` has it. */
export interface Operation {
  readonly mounted: MountedRoute;
  /** The path in the table of the client: `~/x` is below `http.basePath`, `^/x` at the root of the domain. */
  readonly path: string;
  /** The property path in the client, such as `agents.create`. Some operations have two. */
  readonly names: readonly string[];
}

/** Names for which the rule would be a bad fit, with the words of the library (`legate.agents`). */
const NAMES: Readonly<Record<string, string | readonly string[]>> = {
  'POST /agents/{id}/permissions/filter': 'agents.filterPermissions',
  'POST /agents/{id}/permissions/replay': 'agents.replay',
  'POST /agents/revoke': 'agents.revokeMany',
  'DELETE /agents/{id}': ['agents.revoke', 'agents.delete'],
  'GET /agents/{id}/trust': 'agents.trust.list',
  'POST /agents/{id}/trust': 'agents.trust.create',
  'DELETE /agents/{id}/trust': 'agents.trust.deleteAll',
  'DELETE /agents/{id}/trust/{trustId}': 'agents.trust.delete',
  'GET /agents/{id}/keys': 'agents.keys.get',
  'PUT /agents/{id}/keys': 'agents.keys.set',
  'DELETE /agents/{id}/keys': 'agents.keys.delete',
  'GET /permissions/subjects': 'permissions.subjects',
  'DELETE /delegations/{id}': ['delegations.revoke', 'delegations.delete'],
  'GET /auth/sessions': 'sessions.list',
  'DELETE /auth/sessions': 'sessions.revokeAll',
  'DELETE /auth/sessions/{id}': ['sessions.revoke', 'sessions.delete'],
  'GET /auth/session': 'sessions.current',
  'GET /users/{id}/sessions': 'users.sessions.list',
  'DELETE /users/{id}/sessions': 'users.sessions.revokeAll',
  'DELETE /users/{id}/sessions/{sid}': ['users.sessions.revoke', 'users.sessions.delete'],
  'DELETE /api-tokens/{id}': ['apiTokens.revoke', 'apiTokens.delete'],
  'DELETE /oauth/grants/{id}': ['oauth.grants.revoke', 'oauth.grants.delete'],
  'DELETE /invites/{id}': ['invites.revoke', 'invites.delete'],
  'POST /verify-email/send': 'verifyEmail.send',
  'POST /verify-email': 'verifyEmail.confirm',
  'POST /passkeys/register/options': 'passkeys.registrationOptions',
  'POST /passkeys/register/verify': 'passkeys.register',
  'POST /passkeys/sign-in/options': 'passkeys.signInOptions',
  'POST /passkeys/sign-in/verify': 'passkeys.signIn',
  'POST /magic-link': 'magicLink.send',
  'POST /magic-link/verify': 'magicLink.verify',
  'POST /email-otp': 'emailOtp.send',
  'POST /email-otp/verify': 'emailOtp.verify',
  'POST /costs': ['costs.record', 'costs.create'],
  'GET /webhooks/deliveries/{id}': 'webhooks.delivery',
  'POST /webhooks/deliveries/{id}/redeliver': 'webhooks.redeliver',
  'GET /oauth/consent': 'oauth.consent.get',
  'POST /oauth/consent': 'oauth.consent.decide',
  'GET ^/.well-known/oauth-protected-resource': 'metadata.protectedResource',
  'GET ^/.well-known/oauth-protected-resource/{path}': 'metadata.protectedResourceAt',
  'GET ^/.well-known/oauth-authorization-server': 'metadata.authorizationServer',
  'GET ^/.well-known/oauth-authorization-server/{path}': 'metadata.authorizationServerAt',
  'GET ^/.well-known/authzen-configuration': 'metadata.authzen',
  'GET /scim/v2/Users': 'scim.users.list',
  'GET /scim/v2/Users/{id}': 'scim.users.get',
  'POST /scim/v2/Users': 'scim.users.create',
  'PUT /scim/v2/Users/{id}': 'scim.users.replace',
  'PATCH /scim/v2/Users/{id}': 'scim.users.update',
  'DELETE /scim/v2/Users/{id}': 'scim.users.delete',
  'GET /scim/v2/Groups': 'scim.groups.list',
  'GET /scim/v2/Groups/{id}': 'scim.groups.get',
  'POST /scim/v2/Groups': 'scim.groups.create',
  'PUT /scim/v2/Groups/{id}': 'scim.groups.replace',
  'PATCH /scim/v2/Groups/{id}': 'scim.groups.update',
  'DELETE /scim/v2/Groups/{id}': 'scim.groups.delete',
  'GET /scim/v2/Schemas': 'scim.schemas.list',
  'GET /scim/v2/Schemas/{id}': 'scim.schemas.get',
  'GET /scim/v2/ResourceTypes': 'scim.resourceTypes.list',
  'GET /scim/v2/ResourceTypes/{id}': 'scim.resourceTypes.get',
  'GET /scim/v2/ServiceProviderConfig': 'scim.serviceProviderConfig',
  'GET /ledger/{log}/checkpoint': 'ledger.logs.checkpoint',
  'GET /ledger/{log}/tile/entries/{tile}': 'ledger.logs.entries',
  'GET /ledger/{log}/tile/{tile}': 'ledger.logs.tile',
  'GET /ledger/{log}/consistency': 'ledger.logs.consistency',
  'GET /ledger/{log}/checkpoints': 'ledger.logs.checkpoints',
  'GET /ledger/{log}/keys': 'ledger.logs.keys',
  'GET /ledger/{log}/logs': 'ledger.logs.listOf',
  'GET /ledger/{log}/status': 'ledger.logs.status',
  'GET /ledger/{log}/proof': 'ledger.logs.proof',
  'GET /openapi.json': 'openapi',
};

/** Returns the schema of a response with data, the media types of a response that is not parsed, or undefined. */
export function answerOf({ route }: MountedRoute): z.ZodType | 'raw' | undefined {
  for (const [status, answer] of Object.entries(route.responses))
    if (Number(status) < 300 && answer !== null) return answer instanceof z.ZodType ? answer : 'raw';
  return undefined;
}

/** Returns how the table calls the operation: its method, or LIST, RAW (the response is not parsed) or FORM. */
export function kindOf({ mounted }: Operation): string {
  const { route } = mounted;
  if (answerOf(mounted) === 'raw') return 'RAW';
  if (route.form === 'only') return 'FORM';
  return route.method === 'GET' && isPaged(route) ? 'LIST' : route.method;
}

/** Returns the operations of the client: all in the API description, in its order, except the stream. */
export function operationsOf(described: readonly MountedRoute[]): Operation[] {
  // Endpoints with streams have separate clients.
  const streams = new Set(
    described
      .filter(({ route }) => JSON.stringify(route.responses[200] ?? null).includes('text/event-stream'))
      .map(({ path }) => path),
  );
  const found = described
    .filter(({ path }) => !streams.has(path))
    .map((mounted): Operation => {
      const path = pathOf(mounted);
      const named = NAMES[`${mounted.route.method} ${path}`];
      return { mounted, path, names: named === undefined ? [nameOf(mounted, path)] : [named].flat() };
    });
  return found.map((operation) => ({ ...operation, names: operation.names.map((name) => resolved(name, found)) }));
}

/**
 * A name cannot be both a function and a group. Next to `tools.approve`, a GET named `tools` becomes `tools.list`. Next
 * to a POST named `authorize`, `authorize.batch` becomes `authorizeBatch`.
 */
function resolved(name: string, operations: readonly Operation[]): string {
  const called = (chain: string): Operation[] => operations.filter((o) => o.names.includes(chain));
  if (called(name).length > 1)
    throw new Error(`Two operations are named ${name}: add one to scripts/docs/client-names.ts.`);
  const dot = name.lastIndexOf('.');
  const group = called(name.slice(0, Math.max(dot, 0)))[0];
  if (group && group.mounted.route.method !== 'GET')
    return name.slice(0, dot) + name.charAt(dot + 1).toUpperCase() + name.slice(dot + 2);
  const mounted = called(name)[0]?.mounted;
  const isGroup = operations.some((o) => o.names.some((other) => other.startsWith(`${name}.`)));
  return isGroup && mounted?.route.method === 'GET' ? `${name}.${isArray(mounted) ? 'list' : 'get'}` : name;
}

function pathOf({ route }: MountedRoute): string {
  const path = route.path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
  return { rest: '', base: '~', root: '^' }[route.mount ?? 'rest'] + path;
}

const isArray = (mounted: MountedRoute): boolean => {
  const schema = answerOf(mounted);
  return schema instanceof z.ZodArray || isPaged(mounted.route);
};

/** Names an operation by its path: `POST /mcp/servers` is `mcp.servers.create`. */
function nameOf(mounted: MountedRoute, path: string): string {
  const { method, responses } = mounted.route;
  const parts = path
    .replace(/^[~^]?\//, '')
    .replace(/^access\/v1\//, 'authzen/')
    .split('/');
  const fixed = parts.filter((part) => !part.startsWith('{')).map(camel);
  const endsWithId = parts.at(-1)?.startsWith('{');
  const nested = fixed.length < parts.length;
  const under = (verb: string): string => [...fixed, verb].join('.');
  switch (method) {
    case 'GET':
      if (endsWithId) return under('get');
      return isArray(mounted) && !nested ? under('list') : fixed.join('.');
    case 'POST':
      return !nested && 201 in responses && fixed.at(-1) !== 'register' ? under('create') : fixed.join('.');
    case 'PATCH':
      return under('update');
    case 'PUT':
      return under('set');
    case 'DELETE':
      return under(endsWithId || nested ? 'delete' : 'deleteAll');
  }
}

const camel = (part: string): string =>
  part.replace(/^[A-Z]/, (c) => c.toLowerCase()).replace(/[-_.](\w)/g, (_, c: string) => c.toUpperCase());
