// The evaluation of a decision alone, in this process and without a record.
import { CallFacts } from '../../dist/authorization/permissions/call-facts.js';
import { compileAgent } from '../../dist/authorization/permissions/compile.js';
import { decide } from '../../dist/authorization/permissions/decide.js';
import { permissionsOf } from '../support/data.mjs';
import { median, thousands } from '../support/numbers.mjs';

const ROUNDS = 9;
const CALLS = 300_000;
const unused = { used: () => 0 };

export function measureDecide({ report }) {
  for (const count of [10, 1000, 10_000]) {
    const agent = compileAgent({
      id: 'agt_bench',
      owner_id: 'usr_bench',
      tenant_id: null,
      token_hash: '',
      revoked_at: null,
      owner_suspended: 0,
      expires_at: null,
      permissions: JSON.stringify(permissionsOf(count)),
    });
    const asks = Array.from({ length: 64 }, (_, i) => ({
      action: 'read',
      resource: `mcp:server${(i * 977) % count}:tool${i}`,
      now: 1,
      call: new CallFacts(null, undefined),
    }));
    const rates = Array.from({ length: ROUNDS }, () => {
      let allowed = 0;
      const start = performance.now();
      for (let i = 0; i < CALLS; i++) if (decide(agent, asks[i & 63], unused).allowed) allowed++;
      const seconds = (performance.now() - start) / 1000;
      if (allowed !== CALLS) throw new Error(`${CALLS - allowed} decisions were not allowed.`);
      return CALLS / seconds;
    });
    report(`in-process decision, no record, ${thousands(count)} permissions`, {
      measured: `${thousands(median(rates))}/s`,
      bar: '>= 2,000,000/s',
      ok: median(rates) >= 2e6,
    });
  }
}
