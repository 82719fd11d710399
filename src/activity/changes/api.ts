import type { z } from 'zod';
import { asQuery, type InProcess, type OneOrMore } from '../../access/in-process.ts';
import type { Platform } from '../../platform.ts';
import { type ChangePage, listChanges } from './list-changes.ts';
import { ListChanges } from './schema.ts';

/** `legate.changes`: GET /changes as a function, with the rights of an admin. */
export interface ChangesApi {
  /** Newest first; `next` is the `cursor` of the next page. */
  list(
    filter?: OneOrMore<InProcess<Omit<z.input<typeof ListChanges>, 'limit' | 'type'>>> & {
      limit?: number;
      type?: string | readonly string[] | undefined;
    },
  ): Promise<ChangePage>;
}

export const changesApi = (
  platform: Pick<Platform, 'beforeLongPage' | 'database' | 'reader' | 'stateOf'>,
): ChangesApi => ({
  list: (filter = {}) => listChanges(platform, { kind: 'all' }, asQuery(ListChanges, filter)),
});
