import { application, SYSTEM } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { ANONYMOUS } from '../../access/principal.ts';
import { isActive } from '../../authorization/agents/index.ts';
import { approvalsApi } from '../../authorization/approvals/index.ts';
import {
  type Asker,
  AuthorizeBody,
  authorize,
  type CompiledAgent,
  isPlainQuestion,
  policyCache,
} from '../../authorization/permissions/index.ts';
import { ConfigError } from '../../kernel/config.ts';
import { invalidCredential } from '../../kernel/errors.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import { type SecretHash, secretHash, secretKind, secretKindByPrefix } from '../../kernel/secrets.ts';
import { defineState, type Gate, type Platform } from '../../platform.ts';
import { isReservedName } from '../guard/asks.ts';
import type { GuardedQuestion, GuardingLegate } from '../guard/guard-options.ts';
import type { TokenValidation } from '../guard/token-validation.ts';
import { registerServer } from '../servers/register-server.ts';
import { SERVER_SCOPES } from '../servers/resource-metadata.ts';
import { findServerByName } from '../servers/store.ts';
import { updateServer } from '../servers/update-server.ts';
import { openForPeople } from './connections/open-for.ts';
import { permittedLists } from './lists/permitted-lists.ts';
import { pinsState } from './pins/pins.ts';
import { recorderOf } from './record-call.ts';
import { Relay } from './relay.ts';
import { parseServers } from './servers-file.ts';

/** Expiry reported for an agent's token without expiry. The token is checked at each request anyway. */
const ASSUMED_LIFE_MS = 60 * 60_000;

export const gatewayPath = (name: string): string => `/gateway/${name}/mcp`;

/** The configured servers by name. */
export const gatewayServers = defineState((platform): ReadonlyMap<string, Relay> => {
  const servers = parseServers({ mcpServers: platform.config.gateway.servers }, process.env);
  const legate = guarding(platform);
  const record = recorderOf(platform);
  const pins = platform.stateOf(pinsState);
  const lists = platform.stateOf(permittedLists);
  const origins = new Set([new URL(platform.baseUrl).origin, ...platform.config.http.trustedOrigins]);
  return new Map(
    servers.map((server) => [
      server.name,
      new Relay({
        server,
        endpoint: endpointOf(platform, server.name),
        openFor: openForPeople(platform, server),
        failed: (problem) => platform.log.warn({ server: server.name, problem }, 'A server behind the gateway failed'),
        legate,
        origins,
        record,
        pins,
        lists,
      }),
    ]),
  );
});

const endpointOf = ({ baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>, name: string): string =>
  baseUrl + config.http.restPath.replace(/\/$/, '') + gatewayPath(name);

/** The functions that the guard needs. They accept an agent's own token and an access token for the endpoint. */
function guarding(platform: Platform): GuardingLegate {
  const approvals = approvalsApi(platform, application());
  return {
    platform,
    authorize: async (question, token) => {
      const asker = askerOf(platform, question, token);
      const input = isPlainQuestion(question) ? question : parseWith(AuthorizeBody, question);
      return await authorize(platform, asker instanceof Promise ? await asker : asker, input);
    },
    approvals,
    mcp: {
      validateToken: (token, { audience, remembered }) =>
        (remembered ? rememberedAgent(platform, token) : undefined) ??
        (secretKind(token) === 'agentToken'
          ? validateAgentToken(platform, token)
          : platform.validateToken(token, audience)),
    },
  };
}

/** Returns an agent whose token was valid at the last decision, if it is in memory. */
function rememberedAgent(
  { clock, stateOf }: Pick<Platform, 'clock' | 'stateOf'>,
  token: string,
): TokenValidation | undefined {
  if (secretKindByPrefix(token) !== 'agentToken') return undefined;
  const agent = stateOf(policyCache).peekByTokenHash(stateOf(tokenHashes).of(token));
  const now = clock.now();
  if (!agent || !isActive(agent, now)) return undefined;
  const expiresAt = new Date(agent.expires_at ?? now + ASSUMED_LIFE_MS);
  const { id, ownerId } = agent;
  return { valid: true, agentId: id, userId: ownerId, scopes: SERVER_SCOPES, expiresAt, remembered: true };
}

/**
 * Returns who asks for a decision: the agent itself, whose token the decision then checks under its lock, or, for an
 * access token, its holder. Throws 401 for a token that no longer belongs to an agent.
 */
function askerOf(
  { database, holderOf, stateOf }: Pick<Platform, 'database' | 'holderOf' | 'stateOf'>,
  { agentId, context }: GuardedQuestion,
  token = '',
): Asker | Promise<Asker> {
  const ip = context?.ip ?? null;
  const userAgent = context?.userAgent ?? null;
  const startedAt = performance.now();
  if (secretKindByPrefix(token) !== 'agentToken') {
    const holder = holderOf(token, asId('agent', agentId));
    return { ip, userAgent, startedAt, principal: null, holder, epoch: -1, reauthenticate: async () => ANONYMOUS };
  }
  const asItself = (agent: CompiledAgent | undefined): Asker => {
    if (!agent) throw invalidCredential('principal-ended');
    const { id: agentId, ownerId, tenantId, tokenHash, expires_at: expiresAt } = agent;
    const principal = { kind: 'agent', agentId, ownerId, tenantId, tokenHash, expiresAt } as const;
    return { ip, userAgent, startedAt, principal, epoch: -1, reauthenticate: async () => principal };
  };
  const tokenHash = stateOf(tokenHashes).of(token);
  const policy = stateOf(policyCache);
  const known = policy.peekByTokenHash(tokenHash);
  return known ? asItself(known) : policy.loadByTokenHash(database.read, tokenHash).then(asItself);
}

/** A list asks for a decision about each item with the same token. */
class TokenHashes {
  #last = { token: '', hash: secretHash('') };

  of(token: string): SecretHash {
    if (this.#last.token !== token) this.#last = { token, hash: secretHash(token) };
    return this.#last.hash;
  }
}

export const tokenHashes = defineState(() => new TokenHashes());

async function validateAgentToken(
  { clock, database, stateOf }: Pick<Platform, 'clock' | 'database' | 'stateOf'>,
  token: string,
): Promise<TokenValidation> {
  const now = clock.now();
  const row = await database.read
    .selectFrom('agents')
    .select(['id', 'owner_id', 'revoked_at', 'expires_at'])
    .where('token_hash', '=', secretHash(token))
    .executeTakeFirst();
  if (!row || !isActive(row, now)) return { valid: false };
  // A list asks many questions, each of which would otherwise read the agent.
  await stateOf(policyCache).load(database.read, row.id);
  const expiresAt = new Date(row.expires_at ?? now + ASSUMED_LIFE_MS);
  return { valid: true, agentId: row.id, userId: row.owner_id, scopes: SERVER_SCOPES, expiresAt };
}

/**
 * Registers the configured servers as resources of access tokens. Throws ConfigError if a name belongs to a registered
 * server with another address.
 */
export async function registerServers(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'ledger' | 'stateOf'>,
): Promise<void> {
  const caller = applicationCaller(SYSTEM);
  for (const name of platform.stateOf(gatewayServers).keys()) {
    const endpoint = endpointOf(platform, name);
    const registered = await findServerByName(platform.database.read, name);
    if (registered?.endpoint === endpoint) continue;
    if (!registered) {
      const input = { name, endpoint, tools: [], authRequired: true };
      await registerServer(platform, input, { caller, taken: 'refuse' }).catch(async (error: unknown) => {
        // Another instance that starts at the same time may have registered it.
        if ((await findServerByName(platform.database.read, name))?.endpoint !== endpoint) throw error;
      });
    } else if (new URL(registered.endpoint).pathname.endsWith(gatewayPath(name)))
      // The base URL has changed.
      await updateServer(platform, caller, registered.id, { endpoint }, { byGateway: true });
    else
      throw new ConfigError([
        `gateway.servers (LEGATE_GATEWAY_SERVERS): ${name} is the name of a registered MCP server at ` +
          `${registered.endpoint}. Rename the server here, or delete that registration.`,
      ]);
  }
}

/**
 * Refuses calls of tools that a configured server does not have or whose definition is not approved, with the same
 * answer as for calls that are not permitted.
 */
export function toolGate({ stateOf }: Pick<Platform, 'stateOf'>): Gate {
  const pins = stateOf(pinsState);
  return {
    check(context, { resource, ownerId, action }) {
      const [, name, tool] = /^mcp:([^:]+):(.+)$/s.exec(resource) ?? [];
      const relay = name === undefined ? undefined : stateOf(gatewayServers).get(name);
      if (!relay || tool === undefined) return undefined;
      // Calls of tools with such a name never have this action, and are refused below.
      if (isReservedName(tool) && action === 'read') return undefined;
      const { isolation, pin } = relay.server.legate;
      if (pin !== 'off' && !pins.isAt(context)) return { lacks: [{ load: (db) => pins.load(db, context) }] };
      const key = { user: ownerId, shared: '', session: undefined }[isolation];
      if (relay.tools.allows(tool, key)) return undefined;
      return { refusal: { reason: 'NO_PERMISSION', by: `gateway:${name}` } };
    },
  };
}

/**
 * Handles decisions about tools: notifies the clients of the servers, and lists the tools of connections with a tool
 * that is not approved again, because they may have listed it before it changed to the approved definition.
 */
export function announceChanges({ stateOf }: Pick<Platform, 'stateOf'>): void {
  const relays = stateOf(gatewayServers);
  for (const name of stateOf(pinsState).takeChanged()) {
    const relay = relays.get(name);
    relay?.announceTools();
    relay?.upstreams.listAgain((key) => relay.tools.withholds(key));
  }
}

/** Notifies the clients of agents whose permissions have changed. */
export async function announcePermissions({ stateOf }: Pick<Platform, 'stateOf'>): Promise<void> {
  const relays = [...stateOf(gatewayServers).values()];
  const agents = new Set(relays.flatMap((relay) => [...relay.agents()]));
  for (const agent of await stateOf(permittedLists).takeChanged(agents))
    for (const relay of relays) await relay.announceLists(agent);
}

/** Applies changes made on other instances. */
export async function readPins(platform: Pick<Platform, 'stateOf'>): Promise<void> {
  const relays = platform.stateOf(gatewayServers);
  if (relays.size === 0) return;
  const pins = platform.stateOf(pinsState);
  await pins.load();
  announceChanges(platform);
  for (const name of await pins.takeRestarted()) await relays.get(name)?.upstreams.end();
}

/** Ends the streams of clients. Calls in progress get a few more seconds. */
export function finishGateway({ stateOf }: Pick<Platform, 'stateOf'>): void {
  for (const relay of stateOf(gatewayServers).values()) relay.finish();
}

export async function stopGateway({ stateOf }: Pick<Platform, 'stateOf'>): Promise<void> {
  await Promise.all([...stateOf(gatewayServers).values()].map((relay) => relay.stop()));
}
