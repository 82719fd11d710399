import { availableParallelism } from 'node:os';
import { z } from 'zod';
import type { PlainText } from '../../kernel/branded.ts';
import type { PasswordHash } from '../../kernel/secrets.ts';
import { UserErrors } from '../users/errors.ts';
import { BoundedPool } from './bounded-pool.ts';

const MIN_CHARS = 8;
const MAX_BYTES = 1024;

/** argon2id with 19 MiB, two passes, one lane (contract, section 10; OWASP's first choice). */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A hash that matches no known password: a check against it costs as much as a real one. */
export const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$bGVnYXRlLWR1bW15LXNsdA$1WbUuYHf7mOaNm5Nw5wqA2a7Q8vXrT0kYd3eHj9sZLE' as PasswordHash;

/**
 * One core remains for the event loop, so that decisions do not wait for passwords. At 5 ms each, the longest wait is
 * a few seconds.
 */
const WIDTH = Math.max(1, Math.min(4, availableParallelism() - 1));
const pool = new BoundedPool(WIDTH, 256, () => UserErrors.PASSWORD_CHECKS_BUSY({ headers: { 'retry-after': '1' } }));

/**
 * Different encodings of the same characters are one password (NIST SP 800-63B-4, section 3.1.1.2). The length limits
 * apply to this form.
 */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFKC'), 'utf8');

/** Passwords set under an older rule may be shorter than a new one. */
const checkable = (password: string): boolean =>
  password !== '' && password.isWellFormed() && bytesOf(password).byteLength <= MAX_BYTES;

/** A new password: at least 8 characters (code points) of any kind, at most 1,024 bytes, used in full. */
export const NewPassword = z
  .string()
  .superRefine((password, ctx) => {
    if (!password.isWellFormed()) ctx.addIssue({ code: 'custom', message: 'must not contain unpaired surrogates' });
    else if ([...password.normalize('NFKC')].length < MIN_CHARS)
      ctx.addIssue({
        code: 'custom',
        message: `must be at least ${MIN_CHARS} characters; 15 or more are recommended`,
      });
    else if (bytesOf(password).byteLength > MAX_BYTES)
      ctx.addIssue({ code: 'custom', message: `must be at most ${MAX_BYTES} bytes` });
  })
  .meta({
    format: 'password',
    description:
      'At least 8 characters and at most 1,024 bytes of UTF-8; 15 or more characters are recommended. Very ' +
      'common passwords, and passwords made of the address or the name of the service, are refused.',
  });

/** Returns the PHC string of argon2id. 503 PASSWORD_CHECKS_BUSY if too many are waiting. */
export async function hashPassword(password: PlainText): Promise<PasswordHash> {
  return pool.run(
    async () => (await (await import('@node-rs/argon2')).hash(bytesOf(password), OPTIONS)) as PasswordHash,
  );
}

/**
 * Returns whether the password matches the hash. null (unknown user, or no password) is false after the same work. 503
 * PASSWORD_CHECKS_BUSY if too many are waiting.
 */
export async function verifyPassword(hash: PasswordHash | null, password: PlainText): Promise<boolean> {
  const fits = checkable(password);
  const matches = await pool.run(async () =>
    (await import('@node-rs/argon2')).verify(hash ?? DUMMY_HASH, fits ? bytesOf(password) : 'no password at all'),
  );
  return matches && fits && hash !== null;
}
