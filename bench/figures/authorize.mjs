// POST /authorize on SQLite: compared with the raw server, at one connection, and compared with itself on more data.
import { join } from 'node:path';
import { countAudit, fillAudit, fillPeople, INDEX_SEGMENT, indexedUpTo } from '../support/data.mjs';
import { compare, load } from '../support/load.mjs';
import { ms, ratio, sleep, thousands } from '../support/numbers.mjs';
import { startReference, startService, writeBodies } from '../support/service.mjs';

const ASK = { action: 'read', resource: 'mcp:server3:list_issues', arguments: { repo: 'octo/hello', page: 1 } };
const WITHIN = 0.85;

/** The question of an agent about itself. */
export const ownQuestion = (scratch) => writeBodies(join(scratch, 'own.txt'), [ASK]);
export const target = (server, token, bodies) => ({ url: `${server.url}/authorize`, token, bodies });

export async function measureAuthorize({ scratch, generator, rounds, seconds, report }) {
  const databaseUrl = `sqlite:${join(scratch, 'authorize/legate.db')}`;
  const people = await fillPeople(databaseUrl, 10_000);
  const reference = await startReference();
  const service = await startService(databaseUrl, join(scratch, 'authorize'));
  const own = ownQuestion(scratch);
  const plan = (connections) => ({ connections, rounds, seconds });
  const small = target(service, people.small.token, own);
  try {
    const wide = await compare(generator, target(reference, people.small.token, own), small, plan(64));
    report('POST /authorize, 64 connections', {
      measured:
        `${ratio(wide.ratio)} of raw (${thousands(wide.b.rps)}/s of ${thousands(wide.a.rps)}/s), ` +
        `p50 ${ms(wide.b.p50)}, p99 ${ms(wide.b.p99)}`,
      bar: '>= 0.50 of raw, p99 <= 10 ms',
      ok: wide.ratio >= 0.5 && wide.b.p99 <= 10,
    });

    const single = await compare(generator, target(reference, people.small.token, own), small, plan(1));
    report('POST /authorize, 1 connection', {
      measured:
        `p50 ${ms(single.b.p50)}, p99 ${ms(single.b.p99)}, ` +
        `${thousands(single.b.rps)}/s (${ratio(single.ratio)} of raw)`,
      bar: 'p50 <= 0.30 ms with fsync 0.12 ms',
      ok: single.b.p50 <= 0.3,
    });

    const large = await compare(generator, small, target(service, people.large.token, own), plan(64));
    report('POST /authorize, agent with 1,000 permissions against 10', within(large));

    const one = writeBodies(join(scratch, 'one.txt'), [{ ...ASK, agentId: people.many[0] }]);
    const many = writeBodies(
      join(scratch, 'many.txt'),
      people.many.map((agentId) => ({ ...ASK, agentId })),
    );
    const agents = await compare(
      generator,
      target(service, people.ownerToken, one),
      target(service, people.ownerToken, many),
      plan(64),
    );
    report('POST /authorize, calls of 10,000 agents against calls of 1', within(agents));
  } finally {
    await service.stop();
    await reference.stop();
  }
}

/**
 * Decisions must not become slower with the number of earlier decisions. Leaves the filled database for the audit
 * figures.
 */
export async function measureHistory({ scratch, generator, rounds, seconds, report, history }) {
  const emptyUrl = `sqlite:${join(scratch, 'empty/legate.db')}`;
  const people = await fillPeople(emptyUrl, 10);
  const empty = await startService(emptyUrl, join(scratch, 'empty'));
  const full = await startService(history.databaseUrl, history.dataDir);
  const own = ownQuestion(scratch);
  try {
    await caughtUp(full, history.databaseUrl, history.people, history.rows);
    const rows = await compare(
      generator,
      target(empty, people.small.token, own),
      target(full, history.people.small.token, own),
      { connections: 64, rounds, seconds },
    );
    report('POST /authorize, after 1 million decisions against none', within(rows));
  } finally {
    await empty.stop();
    await full.stop();
  }
}

/** A database with a million earlier decisions. */
export async function fillHistory(scratch, rows) {
  const dataDir = join(scratch, 'history');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10_000);
  await fillAudit(databaseUrl, people, rows);
  const service = await startService(databaseUrl, dataDir);
  try {
    await caughtUp(service, databaseUrl, people, rows);
  } finally {
    await service.stop();
  }
  return { dataDir, databaseUrl, people, rows };
}

/** Rows that the service did not write itself are indexed in the background and counted by the first query. */
export async function caughtUp(service, databaseUrl, people, rows) {
  for (const path of [`/audit?agentId=${people.many[0]}&limit=1`, '/dashboard/stats?window=all']) {
    const { status } = await fetch(service.url + path, { headers: { authorization: `Bearer ${people.ownerToken}` } });
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  }
  // PostgreSQL updates its indexes in the transaction of the decision.
  if (!databaseUrl.startsWith('sqlite:')) return;
  while ((await indexedUpTo(databaseUrl)) < rows - 2 * INDEX_SEGMENT) await sleep(200);
}

/** Counts the rows before and after: every response allowed the call, and every response has its row. */
export async function checkRecords({ scratch, generator, report }) {
  const dataDir = join(scratch, 'records');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  const service = await startService(databaseUrl, dataDir);
  const CONNECTIONS = 64;
  let answered = 0;
  try {
    for (let i = 0; i < 3; i++)
      answered += (await load(generator, target(service, people.small.token, ownQuestion(scratch)), CONNECTIONS, 1))
        .requests;
  } finally {
    await service.stop();
  }
  const { rows, allowed } = await countAudit(databaseUrl);
  // Requests in flight when the load ends are recorded, but the load generator does not receive their responses.
  report('every answered decision has its row', {
    measured: `${thousands(answered)} answers, ${thousands(rows)} rows, ${thousands(rows - allowed)} not allowed`,
    bar: `answers <= rows <= answers + ${3 * CONNECTIONS} in flight`,
    ok: rows >= answered && rows <= answered + 3 * CONNECTIONS && allowed === rows,
    promise: true,
  });
}

const within = ({ ratio: measured, a, b }) => ({
  measured: `${ratio(measured)} (${thousands(b.rps)}/s against ${thousands(a.rps)}/s), p99 ${ms(b.p99)}`,
  bar: 'within 15 % of the base figure',
  ok: measured >= WITHIN,
});
