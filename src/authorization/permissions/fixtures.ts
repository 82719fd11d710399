import { z } from 'zod';
import { parseIp } from '../../kernel/ip.ts';
import { isoInstant, text } from '../../kernel/json.ts';
import { REASONS } from './reasons.ts';
import { Action, Permissions, Resource } from './schema.ts';

/** The form of files with tests of permissions (docs/fixtures.md), for `legate test`, `legate seed` and the console. */

const Name = text(64);

/** Agents by name and their delegations. `type` and `owner` are for `legate seed`. */
export const FixturePolicy = z.strictObject({
  agents: z.record(
    Name,
    z.strictObject({
      type: z.enum(['autonomous', 'delegated', 'service']).optional(),
      owner: text(320).optional(),
      permissions: Permissions.default([]),
      expiresAt: isoInstant.optional(),
    }),
  ),
  delegations: z
    .array(
      z.strictObject({
        from: Name,
        to: Name,
        permissions: Permissions.min(1),
        expiresAt: isoInstant.optional(),
        maxDepth: z.int().min(1).max(10).optional(),
      }),
    )
    .default([]),
});

const Expected = z.enum(
  ['allowed', 'denied', ...(Object.keys(REASONS) as (keyof typeof REASONS)[])],
  'must be allowed, denied, or the reason for a refusal, such as NO_PERMISSION',
);

const FixtureTest = z.strictObject({
  name: text(200).optional(),
  agent: Name,
  action: Action,
  resource: Resource,
  // The service limits depth and size.
  arguments: z.record(z.string(), z.unknown()).optional(),
  ip: text(64)
    .refine((ip) => parseIp(ip) !== undefined, { message: 'must be an IPv4 or IPv6 address' })
    .optional(),
  at: isoInstant.optional(),
  after: z.int().min(0).max(10_000).optional(),
  expect: Expected,
});
export type FixtureTest = z.output<typeof FixtureTest>;

export const Fixtures = z.strictObject({
  policy: text(1024).optional(),
  agents: FixturePolicy.shape.agents.optional(),
  delegations: FixturePolicy.shape.delegations,
  now: isoInstant.optional(),
  tests: z.array(FixtureTest).min(1).max(10_000),
});
export type Fixtures = z.output<typeof Fixtures>;

/** Whether a decision is the expected one. */
export const isExpected = (
  expect: FixtureTest['expect'],
  { allowed, reason }: { readonly allowed: boolean; readonly reason?: string | undefined },
): boolean => (expect === 'allowed' ? allowed : !allowed && (expect === 'denied' || expect === reason));
