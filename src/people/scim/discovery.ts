import { pathOf, type Site } from '../../pages/index.ts';
import { SCIM_PATH } from './answer.ts';
import { GROUP_SCHEMA, USER_SCHEMA } from './schema.ts';

const at = (site: Site, path: string): string => new URL(pathOf(site, `${SCIM_PATH}/${path}`), site.baseUrl).href;

/** RFC 7643, section 5. */
export const serviceProviderConfig = (site: Site) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  documentationUri: new URL(pathOf(site, '/docs'), site.baseUrl).href,
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API token',
      description: 'An API token of an administrator with the scope scim, as Bearer token.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: at(site, 'ServiceProviderConfig') },
});

/** RFC 7643, section 6. */
export const resourceTypes = (site: Site) =>
  (
    [
      ['User', USER_SCHEMA, 'People who use this service.'],
      ['Group', GROUP_SCHEMA, 'Groups of users. users.scimGroups gives them roles and tenants.'],
    ] as const
  ).map(([id, schema, description]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id,
    name: id,
    endpoint: `/${id}s`,
    description,
    schema,
    meta: { resourceType: 'ResourceType', location: at(site, `ResourceTypes/${id}`) },
  }));

const attribute = (name: string, description: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});

const EXTERNAL_ID = attribute('externalId', 'The id of the resource at the identity provider.', { caseExact: true });

const USER_ATTRIBUTES = [
  attribute('userName', 'Unique name of the user.', { required: true, uniqueness: 'server' }),
  EXTERNAL_ID,
  attribute('name', 'The name of the user.', {
    type: 'complex',
    subAttributes: [
      attribute('formatted', 'The full name.'),
      attribute('givenName', 'The given name.'),
      attribute('familyName', 'The family name.'),
    ],
  }),
  attribute('displayName', 'The name that this service shows.'),
  attribute('active', 'false suspends the user.', { type: 'boolean' }),
  attribute('emails', 'The address of the account: the primary one, or the first.', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The address.'),
      attribute('type', 'Always work.'),
      attribute('primary', 'Whether it is the address of the account.', { type: 'boolean' }),
    ],
  }),
  attribute('groups', 'Groups of the user.', {
    type: 'complex',
    multiValued: true,
    mutability: 'readOnly',
    subAttributes: [
      attribute('value', 'The id of the group.', { mutability: 'readOnly' }),
      attribute('display', 'The name of the group.', { mutability: 'readOnly' }),
      attribute('type', 'Always direct.', { mutability: 'readOnly' }),
    ],
  }),
];

const GROUP_ATTRIBUTES = [
  attribute('displayName', 'Unique name of the group.', { required: true, uniqueness: 'server' }),
  EXTERNAL_ID,
  attribute('members', 'Users of the group.', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The id of the user.', { mutability: 'immutable', caseExact: true }),
      attribute('display', 'The name of the user.', { mutability: 'readOnly' }),
      attribute('type', 'Always User.', { mutability: 'readOnly' }),
    ],
  }),
];

/** RFC 7643, section 7. */
export const scimSchemas = (site: Site) =>
  (
    [
      [USER_SCHEMA, 'User', USER_ATTRIBUTES],
      [GROUP_SCHEMA, 'Group', GROUP_ATTRIBUTES],
    ] as const
  ).map(([id, name, attributes]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    description: name,
    attributes,
    meta: { resourceType: 'Schema', location: at(site, `Schemas/${id}`) },
  }));
