import type { Role } from '../../../access/principal.ts';
import { LegateError } from '../../../kernel/errors.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Db, UserRow } from '../../../storage/index.ts';
import { UserErrors } from '../../users/index.ts';
import { getUserRow } from '../../users/store.ts';
import { updateUserIn } from '../../users/update-user.ts';
import { saysVerified } from '../presets.ts';
import type { Issuer } from '../schema.ts';
import type { Identity } from './identity.ts';

/** Roles, weakest first. */
const STRENGTH: readonly Role[] = ['user', 'auditor', 'admin'];

/**
 * Assigns a user the strongest role and the first tenant that match their claims. If no mapping matches, the role
 * becomes `user` and the tenant is removed. Without mappings of roles, or of tenants, the issuer does not change them.
 * The last administrator keeps the role. Returns the changed user.
 */
export async function applyMapping(
  platform: Pick<Platform, 'config'>,
  change: Change,
  row: UserRow,
  { map = [], preset }: Issuer,
  { claims }: Identity,
): Promise<UserRow> {
  if (map.length === 0) return row;
  // An address that the provider did not verify proves nothing about the person.
  const valuesOf = claimValues(saysVerified(preset, claims) ? claims : { ...claims, email: undefined });
  const held = map.filter(({ claim, value }) => valuesOf(claim).has(value));
  const roles = held.flatMap(({ role }) => role ?? []);
  const role = map.some((each) => each.role !== undefined)
    ? (STRENGTH.findLast((each) => roles.includes(each)) ?? 'user')
    : row.role;
  const slug = held.find(({ tenant }) => tenant !== undefined)?.tenant;
  const tenantId = map.some(({ tenant }) => tenant !== undefined)
    ? slug === undefined
      ? null
      : await findTenantId(change.db, slug)
    : row.tenant_id;
  if (role === row.role && tenantId === row.tenant_id) return row;
  try {
    await updateUserIn(platform, change, row, { role, tenantId });
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== UserErrors.LAST_ADMIN.code) throw error;
    await updateUserIn(platform, change, row, { tenantId });
  }
  return getUserRow(change.db, row.id);
}

/** Returns a function that returns the values of a claim and reads each claim once. */
function claimValues(claims: Identity['claims']): (claim: string) => ReadonlySet<string> {
  const read = new Map<string, ReadonlySet<string>>();
  return (claim) => {
    let values = read.get(claim);
    if (!values) {
      const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
      const all: unknown[] = Array.isArray(value) ? value : [value];
      values = new Set(all.filter((each) => ['string', 'number', 'boolean'].includes(typeof each)).map(String));
      read.set(claim, values);
    }
    return values;
  };
}

/** Returns null for a tenant that does not exist. */
async function findTenantId(db: Db, slug: string): Promise<UserRow['tenant_id']> {
  const row = await db.selectFrom('tenants').select('id').where('slug', '=', slug).executeTakeFirst();
  return row?.id ?? null;
}
