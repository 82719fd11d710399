import type { Db } from '../storage/index.ts';
import { ANONYMOUS, type Principal, type Visibility } from './principal.ts';

/** Who calls a use case, and how far they see. A `Call` of a route is one. */
export interface Caller {
  readonly visibility: Visibility;
  /** The visibility proved again under the lock of a change. Throws 401 or 403. */
  readonly reauthorize: (db: Db) => Promise<Visibility>;
  readonly principal: Principal;
}

const visibility: Visibility = { kind: 'all' };

/** The embedding application in process, with the power of an admin. */
export const IN_PROCESS: Caller = { visibility, reauthorize: async () => visibility, principal: ANONYMOUS };
