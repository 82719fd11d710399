import type { z } from 'zod';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { type ChangePage, listChanges } from './list-changes.ts';
import { ListChanges } from './schema.ts';

/** Filters with one or several values. */
type Listed = 'subject' | 'actor' | 'type';

const listOf = (value: string | readonly string[] | undefined): string | readonly string[] | undefined =>
  typeof value === 'string' ? [value] : value;

/** `legate.changes`: GET /changes as a function, with the rights of an admin. */
export interface ChangesApi {
  /** Newest first; `next` is the `cursor` of the next page. */
  list(
    filter?: InProcess<Omit<z.input<typeof ListChanges>, 'limit' | Listed>> & { limit?: number } & {
      readonly [L in Listed]?: string | readonly string[] | undefined;
    },
  ): Promise<ChangePage>;
}

export const changesApi = (platform: Pick<Platform, 'database' | 'reader'>): ChangesApi => ({
  list: async ({ limit, subject, actor, type, ...filter } = {}) => {
    const asked = {
      ...filter,
      subject: listOf(subject),
      actor: listOf(actor),
      type: listOf(type),
      limit: limit === undefined ? undefined : String(limit),
    };
    return listChanges(platform, { kind: 'all' }, parseWith(ListChanges, asOverHttp(asked)));
  },
});
