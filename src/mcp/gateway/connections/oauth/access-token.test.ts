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
import { accessTokenFor, bearerOf } from './access-token.ts';

const { listening, closeAll } = loopbackServers();
afterAll(closeAll);

it('requests that wait for the renewal of a token on another instance wait together and write nothing', async () => {
  const foreign = await listening();
  let renewals = 0;
  foreign.handle(
    listenerOf(async () => Response.json({ access_token: `new-${++renewals}`, token_type: 'Bearer', expires_in: 20 })),
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
  const bearer = bearerOf(observed, waiting, credentials);
  const asked = [1, 2, 3].map(() => bearer(undefined));
  const apart = accessTokenFor(observed, waiting);
  // Both have looked twice.
  await until(() => read.mock.calls.length >= 4);
  expect(change).not.toHaveBeenCalled();
  t.clock.advance(15_000);
  // The tokens are about to expire as soon as they are issued, but those who wait together use the same one.
  expect(new Set(await Promise.all(asked)).size).toBe(1);
  await apart;
  expect(renewals).toBe(2);
});
