import { createGuardedFetch, type GuardedFetch } from '../../../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../../../platform.ts';

const TIMEOUT_MS = 5000;

interface Fetches {
  readonly configured: GuardedFetch;
  readonly discovered: GuardedFetch;
}

export const upstreamFetches = defineState(
  ({ config }): Fetches => ({
    configured: createGuardedFetch({ allowPrivateNetworks: true }),
    discovered: createGuardedFetch({ allowPrivateNetworks: config.gateway.allowPrivateNetworks }),
  }),
);

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as a JSON object; undefined if it is not one. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Sends a request to a server or to an address from its discovery. Private addresses and plain http are allowed only at
 * the origin that the operator configured, unless `gateway.allowPrivateNetworks` is set. Redirects are not followed.
 */
export async function fetchUpstream(
  { stateOf }: Pick<Platform, 'stateOf'>,
  { server, url, form, json }: { server: string; url: string; form?: URLSearchParams; json?: object },
  headers: Readonly<Record<string, string>> = {},
): Promise<UpstreamAnswer> {
  const { configured, discovered } = stateOf(upstreamFetches);
  const isConfigured = URL.canParse(url) && new URL(url).origin === new URL(server).origin;
  const body = form?.toString() ?? (json && JSON.stringify(json));
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
  const answer = await (isConfigured ? configured : discovered)(url, {
    timeoutMs: TIMEOUT_MS,
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': type }), ...headers },
    ...(body !== undefined && { method: 'POST' as const, body }),
  });
  return { status: answer.status, headers: answer.headers, json: objectIn(answer.body) };
}

function objectIn(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
