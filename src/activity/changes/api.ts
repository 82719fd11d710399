import type { z } from 'zod';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { type ChangePage, listChanges } from './list-changes.ts';
import { ListChanges } from './schema.ts';

/** `legate.changes`: GET /changes as a function, with the rights of an admin. */
export interface ChangesApi {
  /** Newest first; `next` is the `cursor` of the next page. */
  list(
    filter?: InProcess<Omit<z.input<typeof ListChanges>, 'limit' | 'type'>> & { limit?: number; type?: string },
  ): Promise<ChangePage>;
}

export const changesApi = (platform: Pick<Platform, 'database' | 'reader'>): ChangesApi => ({
  list: async ({ limit, ...filter } = {}) => {
    const asked = { ...filter, limit: limit === undefined ? undefined : String(limit) };
    return listChanges(platform, { kind: 'all' }, parseWith(ListChanges, asOverHttp(asked)));
  },
});
