import { afterAll, expect, it, vi } from 'vitest';
import { listenerOf, loopbackServers } from '../../../../../test/support/loopback.ts';
import { createTestService } from '../../../../../test/support/service.ts';
import { until } from '../../../../../test/support/until.ts';
import { SYSTEM } from '../../../../access/actor.ts';
import { asId } from '../../../../kernel/ids.ts';
import type { Platform } from '../../../../platform.ts';
import { gatewayServers } from '../../gateway.ts';
import { NotConnected } from '../../peer.ts';
import { sealCredentials } from '../store.ts';
import { accessTokenFor } from './access-token.ts';

const { listening, closeAll } = loopbackServers();
afterAll(closeAll);

it('calls that wait for the renewal of a token on another instance write nothing', async () => {
  const foreign = await listening();
  foreign.handle(
    listenerOf(async () => Response.json({ access_token: 'new', token_type: 'Bearer', expires_in: 3600 })),
  );
  const url = `${foreign.base}/mcp`;
  const servers = { foreign: { url, legate: { auth: { type: 'oauth' as const } } } };
  const t = await createTestService({ lasting: true, config: { gateway: { servers } } });
  const { platform } = t.legate;
  const server = platform.stateOf(gatewayServers).get('foreign')?.server;
  if (!server) throw new Error('the server is not configured');
  const userId = asId('user', (await t.user()).id);
  const owned = { user_id: userId, server: 'foreign' };
  const now = platform.clock.now();
  const credentials = {
    ...({ type: 'oauth', server: url, issuer: foreign.base, resource: url, clientId: 'us' } as const),
    ...{ tokenEndpoint: `${foreign.base}/token`, accessToken: 'old', refreshToken: 'again', expiresAt: now },
  };
  const times = { created_at: now, updated_at: now, refreshing_until: now + 15_000 };
  const row = { ...owned, type: 'oauth' as const, ...sealCredentials(platform, owned, credentials), version: 1 };
  await platform.ledger.change(SYSTEM, ({ db }) =>
    db
      .insertInto('gateway_connections')
      .values({ ...row, ...times })
      .execute(),
  );
  const change = vi.spyOn(platform.ledger, 'change');
  const read = vi.fn(platform.secrets);
  const observed: Platform = Object.create(platform, { secrets: { value: read } });
  const waiting = { userId, server, version: 1, notConnected: () => new NotConnected('') };
  const asked = [1, 2, 3].map(() => accessTokenFor(observed, waiting));
  // Each of them has looked twice.
  await until(() => read.mock.calls.length >= 6);
  expect(change).not.toHaveBeenCalled();
  t.clock.advance(15_000);
  expect((await Promise.all(asked)).map(({ accessToken }) => accessToken)).toEqual(['new', 'new', 'new']);
});
