/**
 * SCIM 2.0 (RFC 7643, RFC 7644): an identity provider creates, changes, suspends and deletes users, and groups them.
 *
 * Guarantees: filters are parsed into values and become bound parameters; a patch is applied completely or not at all;
 * the administrator of a tenant sees and changes only users of that tenant who are not administrators. Groups give
 * roles and tenants through the option `users.scimGroups`, for callers without a tenant.
 *
 * Accounts, and the effects of suspension, are in `../users`.
 */
import { chunk } from '../../kernel/chunk.ts';
import { defineModule } from '../../platform.ts';
import { SCIM_PATH } from './answer.ts';
import { ScimErrors, scimErrorBody } from './errors.ts';
import { scimRoutes } from './routes.ts';
import { SCIM_JSON } from './schema.ts';

export const scim = defineModule({
  name: 'scim',
  description: 'SCIM 2.0: an identity provider manages users and groups.',
  routes: scimRoutes,
  errors: ScimErrors,
  standard: {
    path: SCIM_PATH,
    mediaType: SCIM_JSON,
    errorBody: scimErrorBody,
    // RFC 7644, section 3.11.
    unsupported: { '/Me': ScimErrors.SCIM_ME_NOT_SUPPORTED },
  },
  reactions: {
    'user.deleted': async (change, events) => {
      const ids = events.flatMap(({ userId }) => userId ?? []);
      for (const some of chunk(ids)) {
        await change.db.deleteFrom('scim_users').where('user_id', 'in', some).execute();
        await change.db.deleteFrom('scim_group_members').where('user_id', 'in', some).execute();
      }
    },
  },
});
