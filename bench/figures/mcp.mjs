// The verification of an access token in the guard of an MCP server: signature, audience, expiry, and that grant and
// agent are still active.
import { join } from 'node:path';
import { createLegate } from '../../dist/index.js';
import { median, thousands } from '../support/numbers.mjs';

const TOKENS = 100;
const AT_ONCE = 64;

export async function measureVerification({ scratch, report, quick }) {
  const endpoint = 'http://localhost:3000/notes';
  const legate = await createLegate({
    dataDir: join(scratch, 'mcp'),
    users: { allowExternalOwners: true },
    rateLimit: { endpoints: { token: { limit: 100_000, window: 60 } } },
  });
  try {
    await legate.mcp.registerServer({ name: 'notes', endpoint });
    const agents = await Promise.all(
      Array.from({ length: TOKENS }, (_, i) =>
        legate.agents.create({ ownerId: 'owner', name: `agent ${i}`, type: 'service' }),
      ),
    );
    const tokens = await Promise.all(agents.map((agent) => tokenOf(legate, agent, endpoint)));
    const calls = quick ? 200_000 : 500_000;
    const rates = [];
    for (let round = 0; round < (quick ? 3 : 7); round++) {
      const start = performance.now();
      for (let done = 0; done < calls; done += AT_ONCE) {
        const validations = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, i) =>
            legate.mcp.validateToken(tokens[(done + i) % TOKENS], { audience: endpoint }),
          ),
        );
        if (!validations.every((validation) => validation.valid)) throw new Error('A good token was refused.');
        // Requests arrive in ticks of the event loop.
        await new Promise((resolve) => setImmediate(resolve));
      }
      rates.push(calls / ((performance.now() - start) / 1000));
    }
    report(`token verification in the guard, HS256, revocation applied immediately, ${AT_ONCE} at a time`, {
      measured: `${thousands(median(rates))}/s`,
      bar: '>= 100,000/s',
      ok: median(rates) >= 100_000,
    });
    await legate.agents.revoke(agents[0].id);
    const { valid } = await legate.mcp.validateToken(tokens[0], { audience: endpoint });
    report('a revoked agent is refused by the next verification', {
      measured: valid ? 'accepted' : 'refused',
      bar: 'refused',
      ok: !valid,
      promise: true,
    });
  } finally {
    await legate.close();
  }
}

async function tokenOf(legate, { id, token }, resource) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: token, resource });
  const response = await legate.fetch(new Request('http://localhost:3000/oauth/token', { method: 'POST', body }), {
    remoteAddress: '127.0.0.1',
  });
  const answer = await response.json();
  if (response.status !== 200)
    throw new Error(`POST /oauth/token answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer.access_token;
}
