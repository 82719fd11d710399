import { z } from 'zod';
import { isoTimestamp } from '../kernel/json.ts';

export const Live = z.object({ status: z.literal('ok') }).meta({ id: 'Live' });

/** Contract 17.12. */
export const SystemDescription = z
  .object({
    version: z.string(),
    node: z.string(),
    baseUrl: z.string(),
    production: z.boolean(),
    time: isoTimestamp,
    database: z.object({
      dialect: z.enum(['sqlite', 'postgres']),
      migrations: z.object({ applied: z.int(), pending: z.array(z.string()) }),
    }),
    warnings: z.array(z.string()).meta({ description: 'Problems of the installation, in words.' }),
    instances: z.array(
      z.object({
        id: z.string(),
        host: z.string(),
        version: z.string(),
        baseUrl: z.string().nullable().meta({ description: 'null for an instance of an earlier version.' }),
        startedAt: isoTimestamp,
        seenAt: isoTimestamp.meta({ description: 'Time of its last sign of life, at most 30 seconds ago.' }),
        current: z.boolean().meta({ description: 'true for the instance that sent this response.' }),
      }),
    ),
    settings: z.array(
      z.object({
        option: z.string(),
        environment: z.string().meta({ description: 'Name of its environment variable.' }),
        source: z.string().meta({ description: '`default`, `file`, `environment` or `code`.' }),
        secret: z.boolean(),
        set: z.boolean(),
        value: z.unknown().meta({ description: 'null for a secret, and for an option without a value.' }),
      }),
    ),
    keys: z
      .array(
        z.object({
          kind: z.string(),
          id: z.string(),
          createdAt: isoTimestamp,
          ageSeconds: z.int(),
          current: z.boolean().meta({ description: 'The key that signs or encrypts; the others still verify.' }),
        }),
      )
      .meta({ description: 'Keys of secrets.json, without their values.' }),
  })
  .meta({ id: 'SystemDescription' });
export type SystemDescription = z.output<typeof SystemDescription>;

export const Ready = z
  .object({
    status: z
      .enum(['ready', 'degraded', 'unavailable'])
      .meta({ description: 'degraded: requests are served, but Redis does not respond or the ledger is not sealed.' }),
    checks: z.object({
      instance: z
        .enum(['ok', 'draining'])
        .meta({ description: 'draining: the process is about to stop. The other checks are then unknown.' }),
      database: z.enum(['ok', 'unreachable', 'unknown']),
      ledger: z.enum(['ok', 'blocked', 'unknown']).meta({ description: 'blocked: decisions cannot be recorded.' }),
      clock: z.enum(['ok', 'off', 'unknown']).meta({
        description: 'off: it differs by more than 30 seconds from that of the database.',
      }),
      redis: z.enum(['ok', 'unreachable']).optional().meta({
        description: 'Only if Redis is used. unreachable: until it responds, each process counts limits on its own.',
      }),
      seal: z
        .enum(['ok', 'behind', 'halted'])
        .optional()
        .meta({
          description:
            'Only if the ledger is sealed. behind: rows wait for a checkpoint for more than a minute, or the newest ' +
            'one cannot be written to the data folder. halted: none is signed until the log is ended with ' +
            '`npx legate ledger recover`.',
        }),
      schema: z
        .enum(['ok', 'behind', 'unknown'])
        .meta({ description: 'behind: the database lacks migrations that this version needs.' }),
    }),
  })
  .meta({ id: 'Ready' });
export type Ready = z.output<typeof Ready>;
