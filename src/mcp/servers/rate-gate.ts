import { MINUTE_MS } from '../../kernel/clock.ts';
import type { Gate, Platform } from '../../platform.ts';

interface Limit {
  readonly id: string;
  readonly rpm: number;
}

/**
 * Applies `rateLimit.rpm` of a registered server: the number of decisions on `mcp:<name>:*` that are allowed in a clock
 * minute (UTC), over all agents. Counted like the caps per hour, so it is exact under any concurrency and durable with
 * the decision.
 */
export function rateGate(platform: Pick<Platform, 'database'>): Gate {
  let known: { readonly epoch: number; readonly limits: ReadonlyMap<string, Limit> } | undefined;
  return {
    check(context, { resource, at }) {
      const [, name] = /^mcp:([^:]+):/.exec(resource) ?? [];
      if (name === undefined) return undefined;
      // Registrations raise the epoch like permissions, so data read at this epoch is valid for the whole batch.
      if (known?.epoch !== context.epoch) {
        const load = async (): Promise<void> => {
          known = { epoch: context.epoch, limits: await readLimits(platform) };
        };
        return { lacks: [{ load }] };
      }
      const limit = known.limits.get(name);
      if (!limit) return undefined;
      const minute = Math.floor(at / MINUTE_MS);
      const key = `rpm:${limit.id}`;
      const used = context.counters.used(key, minute);
      if (used === undefined) return { lacks: [{ counters: [key] }] };
      if (used >= limit.rpm)
        return {
          refusal: { reason: 'RATE_LIMITED', limit: limit.rpm, resetAt: (minute + 1) * MINUTE_MS, by: limit.id },
        };
      return { commit: () => context.counters.take(key, minute) };
    },
  };
}

async function readLimits({ database }: Pick<Platform, 'database'>): Promise<Map<string, Limit>> {
  const rows = await database.read
    .selectFrom('mcp_servers')
    .select(['id', 'name', 'rpm'])
    .where('rpm', 'is not', null)
    .execute();
  return new Map(rows.map(({ id, name, rpm }) => [name, { id, rpm: rpm as number }]));
}
