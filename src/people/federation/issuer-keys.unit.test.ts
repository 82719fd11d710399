import { errors, exportJWK, generateKeyPair, type JWK } from 'jose';
import { expect, it } from 'vitest';
import { DAY_MS } from '../../kernel/clock.ts';
import { createKeyCache, keysOf } from './issuer-keys.ts';

it('keys that a fast clock fetched are fetched again after it is set back', async () => {
  const { publicKey } = await generateKeyPair('ES256', { extractable: true });
  let keys: JWK[] = [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'first' }];
  let now = 0;
  const cache = createKeyCache(async () => ({ status: 200, body: Buffer.from(JSON.stringify({ keys })) }) as never);
  const platform = {
    clock: { now: () => now },
    log: { warn: () => {} },
    stateOf: () => cache,
  } as unknown as Parameters<typeof keysOf>[0];
  const find = (kid: string) =>
    keysOf(
      platform,
      { jwksUri: 'https://issuer.example/keys' },
      cache,
    )({ alg: 'ES256', kid }, { payload: '', signature: '' });
  now = 400 * DAY_MS;
  await find('first');
  now = 0;
  keys = [{ ...keys[0], kid: 'second' } as JWK];
  await expect((async () => find('first'))()).rejects.toThrow(errors.JWKSNoMatchingKey);
  await find('second');
});
