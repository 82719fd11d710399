import { z } from 'zod';
import { isoTimestamp, text } from '../../kernel/json.ts';

/** Contract, section 4. */
export const Tenant = z
  .object({ id: z.string(), name: z.string(), slug: z.string(), createdAt: isoTimestamp })
  .meta({ id: 'Tenant' });
export type Tenant = z.output<typeof Tenant>;

export const MAX_SLUG_CHARS = 63;

const Name = text(200);
const Slug = z
  .string()
  .max(MAX_SLUG_CHARS)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case letters and digits, in parts joined by single hyphens');

export const CreateTenant = z
  .strictObject({
    name: Name,
    slug: Slug.optional().meta({ description: 'Unique. Derived from the name if absent.', examples: ['acme'] }),
  })
  .meta({ id: 'CreateTenantRequest' });
export type CreateTenant = z.output<typeof CreateTenant>;

export const UpdateTenant = z
  .strictObject({
    name: Name.optional(),
    slug: Slug.optional().meta({ description: 'Unique.', examples: ['acme'] }),
  })
  .meta({ id: 'UpdateTenantRequest' });
export type UpdateTenant = z.output<typeof UpdateTenant>;

/** Checked before any query: text in another form never reaches the database. */
export const isTenantId = (id: string): boolean => /^tnt_[0-9a-z]{26}$/.test(id);
