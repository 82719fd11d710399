import { MINUTE_MS } from '../../kernel/clock.ts';
import { NotReady } from '../../ledger/index.ts';
import type { Gate, Platform } from '../../platform.ts';

interface Limit {
  readonly id: string;
  readonly rpm: number;
}

/**
 * `rateLimit.rpm` of a registered server: decisions on `mcp:<name>:*` that may be allowed in a clock minute (UTC), over all
 * agents. Counted where the caps per hour are, so exact under any concurrency and durable with the decision.
 */
export function rateGate(platform: Platform): Gate {
  let known: { readonly epoch: number; readonly limits: ReadonlyMap<string, Limit> } | undefined;
  return {
    pass(turn, { resource }) {
      const [, name] = /^mcp:([^:]+):/.exec(resource) ?? [];
      if (name === undefined) return undefined;
      // Registrations move the epoch as permissions do: what was read at this one is true for this turn.
      if (known?.epoch !== turn.epoch) {
        throw new NotReady({
          load: async () => {
            known = { epoch: turn.epoch, limits: await readLimits(platform) };
          },
        });
      }
      const limit = known.limits.get(name);
      if (!limit) return undefined;
      const minute = Math.floor(turn.now / MINUTE_MS);
      const key = `rpm:${limit.id}`;
      if (turn.counters.used(key, minute) >= limit.rpm)
        return {
          refusal: { reason: 'RATE_LIMITED', limit: limit.rpm, resetAt: (minute + 1) * MINUTE_MS, by: limit.id },
        };
      return { take: () => turn.counters.take(key, minute) };
    },
  };
}

async function readLimits(platform: Platform): Promise<Map<string, Limit>> {
  const rows = await platform.database.read
    .selectFrom('mcp_servers')
    .select(['id', 'name', 'rpm'])
    .where('rpm', 'is not', null)
    .execute();
  return new Map(rows.map(({ id, name, rpm }) => [name, { id, rpm: rpm as number }]));
}
