import type { Db } from '../storage/index.ts';
import type { Actor } from './actor.ts';
import { ANONYMOUS, type Principal, type Visibility } from './principal.ts';

/** The caller of a use case and its visibility. A `Call` of a route is a Caller. */
export interface Caller {
  readonly visibility: Visibility;
  /** Proves credential and right again under the lock of a change. Throws 401 or 403. */
  readonly reauthorize: (db: Db) => Promise<Visibility>;
  readonly principal: Principal;
  /** Recorded with every event of the change that is made. */
  readonly actor: Actor;
  /**
   * Throws 412 PRECONDITION_FAILED if the caller names a version (If-Match) other than that of this representation, or
   * requires that there is none (If-None-Match of a PUT). For use inside the change, with what was read there;
   * undefined: nothing exists yet.
   */
  readonly assertUnchanged?: ((current: object | undefined) => void) | undefined;
}

/** The part of a caller for use cases that need nothing but the right to change. */
export type Changer = Pick<Caller, 'reauthorize' | 'actor' | 'assertUnchanged'>;

const all: Visibility = { kind: 'all' };

/** The embedding application, which sees everything. */
export const applicationCaller = (actor: Actor): Caller => ({
  visibility: all,
  reauthorize: async () => all,
  principal: ANONYMOUS,
  actor,
});
