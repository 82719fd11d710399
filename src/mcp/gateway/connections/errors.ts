import { defineErrors, type LegateError } from '../../../kernel/errors.ts';
import type { Platform } from '../../../platform.ts';

export const ConnectionErrors = defineErrors({
  CONNECTION_NOT_FOUND: [404, 'There is no connection to a server with this name, and none is needed.'],
  CONNECTION_BY_SIGN_IN: [
    409,
    'Connecting this server requires a sign-in at the server. Open its connectUrl in a browser.',
  ],
  CONNECTION_SIGN_IN_INVALID: [
    400,
    'This sign-in was started in another browser, was already used, or has expired. Start again.',
  ],
  CONNECTION_UPSTREAM_FAILED: [502, 'Signing in at this server is not possible right now. Ask the operator.'],
});

/** The problem is written to the log for the operator. In an answer it would reveal details of the network. */
export function upstreamFailed({ log }: Pick<Platform, 'log'>, problem: string): LegateError {
  log.warn({ problem }, 'The sign-in at a server behind the gateway failed');
  return ConnectionErrors.CONNECTION_UPSTREAM_FAILED();
}
