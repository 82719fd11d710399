import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { UserErrors } from '../users/errors.ts';
import { BoundedPool } from './bounded-pool.ts';

const MIN_CHARS = 8;
const MAX_BYTES = 1024;

/** argon2id with 19 MiB, two passes, one lane (contract 10; OWASP's first choice for servers). */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A hash of nothing anybody knows: checking against it costs what checking a real one costs. */
export const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$bGVnYXRlLWR1bW15LXNsdA$1WbUuYHf7mOaNm5Nw5wqA2a7Q8vXrT0kYd3eHj9sZLE';

/** A core stays with the event loop, so that decisions do not wait for passwords; at 5 ms each the longest wait is a few seconds. */
const WIDTH = Math.max(1, Math.min(4, availableParallelism() - 1));
const pool = new BoundedPool(WIDTH, 256, () => UserErrors.PASSWORD_CHECKS_BUSY({ headers: { 'retry-after': '1' } }));

/** Different ways of typing the same characters are one password (NIST SP 800-63B-4, section 3.1.1.2). What counts is the length of this. */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFKC'), 'utf8');

/** Passwords that were set under an older rule are shorter than a new one may be. */
const checkable = (password: string): boolean =>
  password !== '' && password.isWellFormed() && bytesOf(password).byteLength <= MAX_BYTES;

/** A new password: any characters (code points) from 8 on, up to 1,024 bytes, used whole. */
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
      'At least 8 characters and at most 1,024 bytes of UTF-8; 15 characters or more are recommended. Very common passwords, and those made of the address or the name of the service, are refused.',
  });

/** PHC string of argon2id. 503 PASSWORD_CHECKS_BUSY when too many are waiting. */
export async function hashPassword(password: string): Promise<string> {
  return pool.run(async () => (await import('@node-rs/argon2')).hash(bytesOf(password), OPTIONS));
}

/**
 * Whether the password belongs to the hash. null, for a user who is unknown or has no password, is false after the same work.
 * 503 PASSWORD_CHECKS_BUSY when too many are waiting.
 */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  const fits = checkable(password);
  const matches = await pool.run(async () =>
    (await import('@node-rs/argon2')).verify(hash ?? DUMMY_HASH, fits ? bytesOf(password) : 'no password at all'),
  );
  return matches && fits && hash !== null;
}
