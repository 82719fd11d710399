import type { Principal, Visibility } from '../../access/principal.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { CommonErrors, validationFailed } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { ActedEvent } from '../../ledger/index.ts';
import type { Preview } from '../../platform/preview-schema.ts';
import type { Route } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { Source } from '../sources/source.ts';
import { Previewed, PreviewLedger } from './preview-ledger.ts';

/** A query with the parameter, or with escapes, which may spell its name (URL standard, section 5.1). */
const MAY_MENTION = /preview|%/;

/** Whether the endpoint has no preview and says so. Pages, and endpoints of protocols, ignore unknown parameters. */
export const refusesPreview = ({ preview, errorBody, page }: Route<Platform>): boolean =>
  !preview && !errorBody && !page;

/** Whether the request asks for a preview. Throws 400 if the endpoint has none. */
export function asksForPreview(route: Route<Platform>, source: Source<unknown>): boolean {
  const { query } = source;
  if (query === '' || !MAY_MENTION.test(query)) return false;
  const values = source.url.searchParams.getAll('preview');
  if (values.length === 0) return false;
  if (refusesPreview(route)) throw validationFailed([{ path: 'preview', message: 'is not possible at this endpoint' }]);
  if (!route.preview) return false;
  if (values.length > 1) throw validationFailed([{ path: 'preview', message: 'is given more than once' }]);
  if (values[0] !== 'true' && values[0] !== 'false')
    throw validationFailed([{ path: 'preview', message: 'must be true or false' }]);
  return values[0] === 'true';
}

/** Throws 429 if the caller exceeds the limit, because each preview delays decisions for a moment. */
export async function assertMayPreview({ limits }: Pick<Platform, 'limits'>, principal: Principal): Promise<void> {
  const { refusal } = await limits.passAs('preview', callerOf(principal));
  if (refusal) throw refusal;
}

function callerOf(principal: Principal): string {
  switch (principal.kind) {
    case 'anonymous':
      return 'anonymous';
    case 'user':
      return principal.userId;
    case 'agent':
      return principal.agentId;
    case 'accessToken':
      return principal.grantId;
  }
}

/**
 * Runs `carryOut` on a platform whose changes are rolled back, and returns the effects of its change, as far as they
 * are visible to the caller (contract 17.8).
 */
export async function preview(
  platform: Platform,
  visibility: Visibility,
  carryOut: (platform: Platform) => Promise<unknown>,
): Promise<Preview> {
  const ledger = new PreviewLedger(platform.ledger, platform.findLosses);
  try {
    await carryOut({ ...platform, ledger });
  } catch (error) {
    if (!(error instanceof Previewed)) throw error;
  }
  const { rehearsed } = ledger;
  if (!rehearsed) throw CommonErrors.INTERNAL_ERROR({ cause: new Error('A route with a preview made no change.') });
  const losses = await rehearsed.losses.compare();
  const seen = losses.filter(({ agent }) => seesAgent(visibility, agent.id, agent.owner_id));
  const calls = seen.length === 0 ? undefined : await platform.callsSince(platform.clock.now() - HOUR_MS);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    preview: true,
    events: rehearsed.events.filter((event) => seesEvent(visibility, event)).map(asPlain),
    loses: seen.map(({ agent, lost, left }) => ({
      agentId: agent.id,
      name: agent.name,
      permissions: lost.map(asPlain),
      left,
    })),
    hidden: losses.length - seen.length,
    grants: rehearsed.events.filter(({ type }) => type === 'grant.revoked').length,
    approvals: sum(seen.map(({ approvals }) => approvals)),
    callsLastHour: sum(seen.map(({ agent }) => calls?.get(agent.id) ?? 0)),
  };
}

/** Returns the value in the form of JSON: without members that are undefined. */
const asPlain = <T>(value: T): Preview['events'][number] & T => JSON.parse(JSON.stringify(value));

function seesAgent(visibility: Visibility, agentId: Id<'agent'>, ownerId: Id<'user'>): boolean {
  if (visibility.kind === 'all') return true;
  return visibility.kind === 'owner' ? ownerId === visibility.userId : agentId === visibility.agentId;
}

function seesEvent(visibility: Visibility, { agentId, userId }: ActedEvent): boolean {
  if (visibility.kind === 'all') return true;
  return visibility.kind === 'owner' ? userId === visibility.userId : agentId === visibility.agentId;
}
