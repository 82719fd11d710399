import { defineErrors, type LegateError } from '../../../kernel/errors.ts';
import type { Platform } from '../../../platform.ts';

export const ConnectionErrors = defineErrors({
  CONNECTION_NOT_FOUND: [404, 'There is no connection to a server with this name, and none is needed.'],
  CONNECTION_BY_SIGN_IN: [409, 'This server is connected by a sign-in there. Open its connectUrl in a browser.'],
  CONNECTION_SIGN_IN_INVALID: [400, 'This sign-in was not begun here, was used, or has expired. Begin again.'],
  CONNECTION_UPSTREAM_FAILED: [502, 'Signing in at this server is not possible right now. Ask the operator.'],
});

/** The operator reads the problem in the log; in an answer it would reveal the network. */
export function upstreamFailed({ log }: Pick<Platform, 'log'>, problem: string): LegateError {
  log.warn({ problem }, 'The sign-in at a server behind the gateway failed');
  return ConnectionErrors.CONNECTION_UPSTREAM_FAILED();
}
