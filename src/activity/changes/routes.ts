import { z } from 'zod';
import { nextPage } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { listChanges } from './list-changes.ts';
import { ListChanges, RecordedChange } from './schema.ts';

export const changeRoutes = [
  defineRoute({
    method: 'GET',
    path: '/changes',
    summary: 'List who changed what',
    description:
      'The events of changes, newest first, also after `events.retentionDays`. People see changes of things that ' +
      'they own, administrators all changes. A Link header with rel="next" points to the next page.',
    access: { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true },
    query: ListChanges,
    longPages: true,
    responses: { 200: z.array(RecordedChange) },
    handle: async (call, platform) => {
      const { changes, next } = await listChanges(platform, call.visibility, call.query);
      return { status: 200, body: changes, ...nextPage(call.url, next) };
    },
  }),
];
