import { defineModule } from '../../../platform.ts';
import { PasskeyErrors } from './errors.ts';
import { passkeyRoutes } from './routes.ts';

/**
 * Passkeys: discoverable WebAuthn credentials with user verification, which count as both factors (contract 23.3).
 *
 * Guarantees: a challenge works once, for 5 minutes, in one session or browser; only answers for the host and origin of
 * the public address are accepted; a signature counter that does not increase is refused; attestation certificates are
 * never read; adding and removing a passkey requires a recent sign-in and sends a mail.
 *
 * The pages are in `../../account-pages`.
 */
export { PasskeyErrors } from './errors.ts';
export { listPasskeys } from './list-passkeys.ts';
export { hasPasskeys } from './relying-party.ts';
export { removePasskey } from './remove-passkey.ts';
export { withSession } from './routes.ts';
export type { Passkey } from './schema.ts';
export { MAX_PASSKEYS } from './store.ts';

export const passkeys = defineModule({
  name: 'passkeys',
  description: 'Passkeys (WebAuthn): adding, removing, and signing in with them.',
  routes: passkeyRoutes,
  errors: PasskeyErrors,
});
