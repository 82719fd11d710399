import * as client from 'openid-client';
import { expect, it } from 'vitest';
import { answerDevice, DEVICE_CODE, deviceClient } from '../../../test/support/device.ts';
import { claimsOf, signUp } from '../../../test/support/oauth.ts';
import { createTestService } from '../../../test/support/service.ts';

it('[RFC 8628 3.4, 3.5] openid-client polls until the person answers or the code expires', async () => {
  const t = await createTestService();
  const person = await signUp(t);
  const answers: { status: number; error: unknown }[] = [];
  /** What a person does between two polls. */
  let meanwhile = async (): Promise<unknown> => undefined;
  const toUs: client.CustomFetch = async (url, options) => {
    const request = new Request(url, options as RequestInit);
    const isPoll = (await request.clone().text()).includes(encodeURIComponent(DEVICE_CODE)) && url.endsWith('/token');
    if (isPoll) t.clock.advance(5000);
    const response = (await t.legate.fetch(request)) as Response;
    if (isPoll) {
      answers.push({ status: response.status, error: (await response.clone().json()).error });
      await meanwhile();
    }
    return response;
  };
  const { client_id } = await deviceClient(t);
  const discover = () =>
    client.discovery(new URL(t.legate.platform.issuer), client_id, undefined, client.None(), {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
      [client.customFetch]: toUs,
    });
  const config = await discover();
  const start = () => client.initiateDeviceAuthorization(config, { scope: 'mcp:read' });
  // The library waits by the clock of the system.
  const poll = (device: client.DeviceAuthorizationResponse) =>
    client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 });

  const allowed = await start();
  expect(allowed).toMatchObject({ expires_in: 600, interval: 5, verification_uri: `${t.legate.baseUrl}/device` });
  meanwhile = async () => answers.length === 2 && answerDevice(t, person, allowed.user_code);
  const tokens = await poll(allowed);
  expect(answers).toEqual([
    { status: 400, error: 'authorization_pending' },
    { status: 400, error: 'authorization_pending' },
    { status: 200, error: undefined },
  ]);
  expect(claimsOf(tokens.access_token)).toMatchObject({ user_id: person.id, client_id, scope: 'mcp:read' });
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token as string);
  expect((await t.legate.mcp.validateToken(refreshed.access_token)).valid).toBe(true);

  const denied = await start();
  meanwhile = () => answerDevice(t, person, denied.user_code, { decision: 'deny' });
  await expect(poll(denied)).rejects.toMatchObject({ error: 'access_denied', status: 400 });
  const late = await start();
  meanwhile = async () => t.clock.advance(600_000);
  await expect(poll(late)).rejects.toMatchObject({ error: 'expired_token', status: 400 });
});
