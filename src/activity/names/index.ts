/**
 * Names: turns ids into text for people, many at once, so that a screen needs one request for all the ids it shows.
 *
 * Guarantees: an id that is unknown, has no name or is not visible to the caller is absent, without a difference.
 */
import { z } from 'zod';
import { defineModule, defineRoute } from '../../platform.ts';
import { findNames } from './find-names.ts';
import { Named, NamesQuery } from './schema.ts';

export { findNames } from './find-names.ts';
export { type Named, NamesQuery } from './schema.ts';

/** Each of them opens something that has a name. */
const SCOPES = ['agents:read', 'delegations:read', 'audit:read', 'events:read'] as const;

export const names = defineModule({
  name: 'names',
  description: 'Names for ids.',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/names',
      summary: 'Find the names of ids',
      description:
        'For ids of every kind, in the order of the request. The name of a decision is its action and resource, that ' +
        'of an event its type, that of a session its device. Ids of objects that do not exist or are not visible to ' +
        'the caller are left out: an agent, and a token with scopes, gets the names of what it can read with a GET.',
      access: { scope: SCOPES, resource: 'legate:agents', action: 'read', self: true },
      query: NamesQuery,
      responses: { 200: z.array(Named) },
      handle: async (call, platform) => ({
        status: 200,
        body: await findNames(platform, call, call.query.ids),
      }),
    }),
  ],
});
