// Delegations: the cost of a chain for a decision, and the cost of a hundred thousand delegations for a change.
import { join } from 'node:path';
import { migrate, openDatabase } from '../../dist/storage/index.js';
import { fillPeople, insertDelegations, permissionsOf } from '../support/data.mjs';
import { compare, load, run } from '../support/load.mjs';
import { pinned } from '../support/machine.mjs';
import { median, ms, quantile, ratio, sleep, thousands } from '../support/numbers.mjs';
import { startService, writeBodies } from '../support/service.mjs';

const AGENTS = 10_000;
const DELEGATIONS = 100_000;
const DESCENDANTS = 1000;
const CHANGES = 1000;
const PREVIEWS = 5;
const WARM_UP = 1500;
const INBOUND = 1000;
const ASK = { action: 'read', resource: 'mcp:server3:list_issues' };

export async function measureDelegation({ scratch, generator, rounds, seconds, report }) {
  const dataDir = join(scratch, 'delegation');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, AGENTS);
  await fillDelegations(databaseUrl, people);
  const service = await startService(databaseUrl, dataDir, {
    env: {
      LEGATE_AGENTS_MAX_PER_OWNER: '100000',
      LEGATE_DELEGATIONS_MAX_PER_PAIR: '1000',
      LEGATE_DELEGATIONS_MAX_GIVEN: '10000',
    },
  });
  const send = sender(service.url, people.ownerToken);
  const agent = (permissions = []) =>
    send('POST', '/agents', { ownerId: people.ownerId, name: 'Agent', type: 'autonomous', permissions });
  const delegate = (from, to, permissions) =>
    send('POST', '/delegations', { fromAgent: from, toAgent: to, permissions, maxDepth: 10 });
  const own = writeBodies(join(scratch, 'delegated.txt'), [ASK]);
  const asks = ({ token }) => ({ url: `${service.url}/authorize`, token, bodies: own });
  const plan = { connections: 64, rounds, seconds };
  try {
    // This comes first, because otherwise the indexing of many earlier decisions would be measured too.
    await measureChanges({ people, url: service.url, report });
    const permissions = permissionsOf(10);
    const [root, second, third, last] = [await agent(permissions), await agent(), await agent(), await agent()];
    await delegate(root.id, second.id, permissions);
    await delegate(second.id, third.id, permissions);
    await delegate(third.id, last.id, permissions);
    const chain = await compare(generator, asks(root), asks(last), plan);
    report('decision through a chain of three delegations, against a direct one', {
      measured:
        `${ratio(chain.ratio)} (${thousands(chain.b.rps)}/s against ${thousands(chain.a.rps)}/s), ` +
        `p99 ${ms(chain.b.p99)}`,
      bar: '>= 0.90',
      ok: chain.ratio >= 0.9,
    });

    const [sparse, popular, crowded] = [await agent(), await agent(), await agent()];
    const one = (i) => [{ resource: `mcp:server${i}:*`, actions: ['read'] }];
    const wide = await agent([{ resource: 'mcp:*', actions: ['read'] }]);
    await delegate(wide.id, sparse.id, one(3));
    for (let i = 0; i < INBOUND; i++) await delegate(wide.id, popular.id, one(i));
    for (let i = 0; i < INBOUND; i++) await delegate(wide.id, crowded.id, one(3));
    for (const [what, received] of [
      ['different permissions', popular],
      ['one and the same permission', crowded],
    ]) {
      const inbound = await compare(generator, asks(sparse), asks(received), plan);
      report(`agent with ${thousands(INBOUND)} delegations to it, of ${what}, against one`, {
        measured:
          `${ratio(inbound.ratio)} (${thousands(inbound.b.rps)}/s against ${thousands(inbound.a.rps)}/s), ` +
          `p99 ${ms(inbound.b.p99)}`,
        bar: '>= 0.90',
        ok: inbound.ratio >= 0.9,
      });
    }

    await measureTree({
      people,
      send,
      agent,
      delegate,
      report,
      rounds,
      decisions: () => load(generator, asks(last), 64, Math.max(2, seconds)),
    });
  } finally {
    await service.stop();
  }
}

async function measureChanges({ people, url, report }) {
  const input = {
    url,
    token: people.ownerToken,
    pairs: people.many.slice(0, CHANGES).map((from, i) => [from, people.many[AGENTS - 1 - i]]),
    warmUp: WARM_UP,
    body: { permissions: [{ resource: 'mcp:server3:*', actions: ['read'] }], maxDepth: 10 },
  };
  const times = JSON.parse(
    await run(
      pinned(1, [process.execPath, join(import.meta.dirname, '../support/changes-client.mjs')]),
      JSON.stringify(input),
    ),
  );
  for (const [what, list] of Object.entries(times)) {
    const p99 = quantile(list, 0.99);
    report(`${what} a delegation among ${thousands(DELEGATIONS)}`, {
      measured: `p50 ${ms(median(list))}, p99 ${ms(p99)}`,
      bar: 'p99 < 5 ms',
      ok: p99 < 5,
    });
  }
}

/** Three generations with ten delegations from each agent, while other clients request decisions. */
async function measureTree({ people, send, agent, delegate, report, rounds, decisions }) {
  const permission = [{ resource: 'db:tree:*', actions: ['read'] }];
  const times = [];
  const previews = [];
  const quiet = [];
  const busy = [];
  await decisions();
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    const top = await agent(permission);
    const nodes = people.many.slice(round * 2000, round * 2000 + DESCENDANTS + 1);
    const first = await delegate(top.id, nodes[0], permission);
    for (let i = 1; i < nodes.length; i++) await delegate(nodes[Math.floor((i - 1) / 10)], nodes[i], permission);
    for (let i = 0; i < PREVIEWS; i++) await timed(previews, () => send('DELETE', `/agents/${top.id}?preview=true`));
    quiet.push((await decisions()).p99);
    const loading = decisions();
    await sleep(700);
    await timed(times, () => send('DELETE', `/delegations/${first.id}`));
    busy.push((await loading).p99);
    const left = await send('GET', `/delegations?fromAgent=${nodes[1]}&limit=1000`);
    if (left.some((d) => d.permissions[0].resource === 'db:tree:*')) throw new Error('A descendant is still there.');
  }
  report(`preview of revoking an agent with ${thousands(DESCENDANTS)} descendants`, {
    measured: `p50 ${ms(median(previews))}, at worst ${ms(Math.max(...previews))}`,
    bar: 'p50 <= 150 ms',
    ok: median(previews) <= 150,
  });
  const worst = Math.max(...times);
  report(`revoking the root of a tree with ${thousands(DESCENDANTS)} descendants, under load`, {
    measured:
      `${ms(median(times))}, at worst ${ms(worst)}; decisions meanwhile p99 ${ms(median(busy))} against ` +
      `${ms(median(quiet))}`,
    bar: '< 100 ms',
    ok: worst < 100,
  });
}

async function timed(times, work) {
  const start = performance.now();
  await work();
  times.push(performance.now() - start);
}

const sender = (url, token) => async (method, path, body) => {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};

/** Each agent delegates to the next ten, so that there are no cycles. */
async function fillDelegations(databaseUrl, people) {
  const database = await openDatabase(databaseUrl, { serviceName: 'legate' });
  await migrate(database);
  const pairs = Array.from({ length: DELEGATIONS }, (_, i) => {
    // A hundred groups of a hundred agents; within a group, the first half delegates to the second.
    const group = Math.floor(i / 1000) * 100;
    return [people.many[group + (i % 50)], people.many[group + 50 + (Math.floor(i / 20) % 50)]];
  });
  const permissions = [{ resource: 'mcp:server5:*', actions: ['read'] }];
  await insertDelegations(database, people, pairs, { permissions, maxDepth: 3 });
  await database.close();
}
