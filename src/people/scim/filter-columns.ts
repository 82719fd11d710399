import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Site } from '../../pages/index.ts';
import type { Db } from '../../storage/index.ts';
import { emailKey } from '../users/email.ts';
import { locationOf } from './answer.ts';
import type { Column, Columns, Key } from './filter-sql.ts';
import { memberships, membershipsInGroups } from './memberships.ts';
import { ENTERPRISE_SCHEMA, GROUP_SCHEMA, USER_SCHEMA } from './schema.ts';
import type { ScimScope } from './scope.ts';
import { shownUserName } from './user-name.ts';

const column = (kind: 'text' | 'exact' | 'time', name: string): Column => ({ kind, ref: sql.ref(name) });

/** Of userNames and addresses. A part has no domain that could be converted. */
const emailKeyIn = (ref: RawBuilder<unknown>): Key => ({
  ref,
  of: emailKey,
  ofPart: (part) => part.normalize('NFKC').toLowerCase().normalize('NFKC'),
});

const lower = (text: string): string => text.toLowerCase();

/** The displayName of a group. */
const groupName: Column = {
  ...column('text', 'scim_groups.display_name'),
  key: { ref: sql.ref('scim_groups.display_key'), of: lower, ofPart: lower },
};

/** A text that every resource has, or every value of an attribute. */
const constant = (text: string): RawBuilder<unknown> => sql`cast(${text} as text)`;

/** Attributes of every resource (RFC 7643, section 3.1). */
const commonColumns = (site: Site, resourceType: 'User' | 'Group', schema: string, table: string): Columns => ({
  schemas: { kind: 'text', ref: constant(schema) },
  id: column('exact', `${table}.id`),
  'meta.resourcetype': { kind: 'exact', ref: constant(resourceType) },
  'meta.created': column('time', `${table}.created_at`),
  'meta.lastmodified': column('time', `${table}.updated_at`),
  'meta.location': {
    kind: 'exact',
    ref: sql`(${constant(locationOf(site, resourceType, ''))} || ${sql.ref(`${table}.id`)})`,
  },
});

/** The manager of a user, which is not stored. Before it changes one, Entra ID asks who has it. */
const MANAGER: Column = { kind: 'exact', ref: sql`cast(null as text)` };
const MANAGER_NAMES = ['manager', `${ENTERPRISE_SCHEMA.toLowerCase()}:manager`];

/** The attributes of users that filters compare. displayName and name have no key, nor has members.display. */
export function userColumns(site: Site, db: Db, scope: ScimScope): Columns {
  const email = sql.ref('users.email');
  const key = sql.ref('users.email_key');
  return {
    ...commonColumns(site, 'User', USER_SCHEMA, 'users'),
    ...Object.fromEntries(MANAGER_NAMES.flatMap((name) => [name, `${name}.value`]).map((name) => [name, MANAGER])),
    externalid: column('exact', 'scim_users.external_id'),
    username: {
      kind: 'text',
      ref: shownUserName(db, 'text'),
      key: emailKeyIn(shownUserName(db, 'key')),
    },
    displayname: column('text', 'users.name'),
    'name.formatted': {
      kind: 'text',
      ref: sql`coalesce(${sql.ref('scim_users.formatted_name')}, ${sql.ref('users.name')})`,
    },
    'name.givenname': column('text', 'scim_users.given_name'),
    'name.familyname': column('text', 'scim_users.family_name'),
    active: { kind: 'flag', ref: sql`case when ${sql.ref('users.suspended_at')} is null then 1 else 0 end` },
    emails: {
      kind: 'values',
      columns: {
        value: { kind: 'text', ref: email, key: emailKeyIn(key) },
        type: { kind: 'text', ref: constant('work') },
        primary: { kind: 'flag', ref: sql`1` },
      },
      some: (condition) => sql<SqlBool>`(${email} is not null and ${condition})`,
    },
    groups: {
      kind: 'values',
      columns: {
        value: column('text', 'scim_groups.id'),
        display: groupName,
        type: { kind: 'text', ref: constant('direct') },
      },
      some: (condition) =>
        sql<SqlBool>`exists ${membershipsInGroups(db, scope)
          .select('scim_groups.id')
          .where(sql<SqlBool>`${sql.ref('scim_group_members.user_id')} = ${sql.ref('users.id')}`)
          .where(condition)}`,
    },
  };
}

/** The attributes of groups that filters compare. */
export const groupColumns = (site: Site, db: Db, scope: ScimScope): Columns => ({
  ...commonColumns(site, 'Group', GROUP_SCHEMA, 'scim_groups'),
  externalid: column('exact', 'scim_groups.external_id'),
  displayname: groupName,
  members: {
    kind: 'values',
    columns: {
      value: column('exact', 'users.id'),
      display: column('text', 'users.name'),
      type: { kind: 'text', ref: constant('User') },
    },
    some: (condition) =>
      sql<SqlBool>`exists ${memberships(db, scope)
        .select('users.id')
        .where(sql<SqlBool>`${sql.ref('scim_group_members.group_id')} = ${sql.ref('scim_groups.id')}`)
        .where(condition)}`,
  },
});
