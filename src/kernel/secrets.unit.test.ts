import { expect, it } from 'vitest';
import { newSecret, type SecretHash, secretHash } from './secrets.ts';

const stored = (hash: SecretHash): boolean => /^[0-9a-f]{64}$/.test(hash);

it('a secret does not type-check where its hash is stored or looked up', () => {
  const secret = newSecret('agentToken');
  expect(stored(secretHash(secret))).toBe(true);
  // @ts-expect-error The secret itself.
  expect(stored(secret)).toBe(false);
});
