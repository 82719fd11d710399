import { z } from 'zod';
import { text } from '../../kernel/json.ts';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE_SCHEMA = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const SCIM_JSON = 'application/scim+json';
export const MAX_MEMBERS = 10_000;

const Schemas = z.array(z.string().max(200)).max(10).optional();
const Name = z.object({
  formatted: text(200, 0).nullish(),
  givenName: text(200, 0).nullish(),
  familyName: text(200, 0).nullish(),
});
/** Entra ID sends booleans of patches as text. */
const Flag = z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })]);

/** Attributes of RFC 7643, section 4.1, that are stored. Others are accepted and ignored (RFC 7644, section 3.3). */
export const ScimUserInput = z
  .object({
    schemas: Schemas,
    userName: text(254).meta({ description: 'Unique. The e-mail address of the account, unless `emails` has one.' }),
    externalId: text(200, 0).nullish(),
    name: Name.nullish(),
    displayName: text(200, 0).nullish(),
    active: Flag.nullish().meta({ description: '`false` suspends the user.' }),
    emails: z
      .array(z.object({ value: text(254), type: text(50, 0).nullish(), primary: Flag.nullish() }))
      .max(20)
      .nullish(),
  })
  .meta({ id: 'ScimUserRequest' });
export type ScimUserInput = z.output<typeof ScimUserInput>;

export const ScimGroupInput = z
  .object({
    schemas: Schemas,
    displayName: text(200),
    externalId: text(200, 0).nullish(),
    members: z
      .array(z.object({ value: text(128) }))
      .max(MAX_MEMBERS)
      .nullish(),
  })
  .meta({ id: 'ScimGroupRequest' });
export type ScimGroupInput = z.output<typeof ScimGroupInput>;

const Whole = z
  .string()
  .regex(/^-?\d{1,9}$/, 'must be a whole number')
  .transform(Number);
const Names = text(2000, 0);

/** RFC 7644, section 3.4.2. Sorting is not supported, so its parameters are ignored. */
export const ListQuery = z.object({
  filter: text(2000).optional(),
  startIndex: Whole.optional().meta({ description: 'Position of the first resource, from 1.' }),
  count: Whole.optional().meta({ description: 'At most 200. Default: 100.' }),
  attributes: Names.optional(),
  excludedAttributes: Names.optional(),
  sortBy: Names.optional(),
  sortOrder: Names.optional(),
});
export type ListQuery = z.output<typeof ListQuery>;
export const GetQuery = ListQuery.pick({ attributes: true, excludedAttributes: true });

/** A resource as answered: its attributes depend on `attributes` and `excludedAttributes`. */
export const ScimResource = z
  .looseObject({ schemas: z.array(z.string()), id: z.string() })
  .meta({ id: 'ScimResource' });
export const ScimList = z
  .object({
    schemas: z.array(z.string()),
    totalResults: z.int(),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(z.looseObject({})),
  })
  .meta({ id: 'ScimListResponse' });
