// Federation: the exchange of platform tokens for access tokens, and the suspension of people.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { fillPeople } from '../support/data.mjs';
import { load, run } from '../support/load.mjs';
import { pinned } from '../support/machine.mjs';
import { median, ms, ratio, thousands } from '../support/numbers.mjs';
import { fillOwners } from '../support/owners.mjs';
import { startReference, startService } from '../support/service.mjs';
import { fromTests } from '../support/typescript.mjs';
import { ownQuestion, target } from './authorize.mjs';

const CONNECTIONS = 16;
const AUDIENCE = 'https://legate.example';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';
/** More per second than a run can use. */
const ASSERTIONS_A_SECOND = 4000;
const EACH = 1000;
/** GitHub, GitLab, Kubernetes and the clouds sign with RS256, SPIFFE often with ES256. */
const ALGORITHMS = ['RS256', 'ES256'];

export async function measureFederation(context) {
  for (const algorithm of ALGORITHMS) await measureExchange(context, algorithm);
  await measureSuspension(context);
}

async function measureExchange({ scratch, generator, rounds, seconds, report }, algorithm) {
  const dataDir = join(scratch, `federation-${algorithm}`);
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  const platform = await openPlatform(algorithm);
  const issuer = {
    name: 'platform',
    issuer: platform.address,
    uses: ['workload'],
    jwksUri: platform.address,
    audience: AUDIENCE,
  };
  const service = await startService(databaseUrl, dataDir, {
    env: {
      LEGATE_ISSUERS: JSON.stringify([issuer]),
      LEGATE_FEDERATION_ALLOW_PRIVATE_NETWORKS: 'true',
      LEGATE_RATE_LIMIT_ENDPOINTS_TOKEN_LIMIT: '1000000',
    },
  });
  const reference = await startReference();
  try {
    const trust = { issuer: platform.address, subject: SUBJECT };
    const trusted = await send(service, 'POST', `/agents/${people.small.id}/trust`, people.ownerToken, trust);
    if (trusted.status !== 201) throw new Error(`the trust was answered with ${trusted.status}`);
    const raw = [];
    const runs = [];
    for (let round = 0; round <= rounds; round++) {
      const assertions = await platform.sign(ASSERTIONS_A_SECOND * seconds);
      const own = target(reference, people.small.token, ownQuestion(scratch));
      const yardstick = await load(generator, own, CONNECTIONS, seconds);
      const asked = { kind: 'assertion', url: service.url, connections: CONNECTIONS, seconds, assertions };
      const script = join(import.meta.dirname, '../support/oauth-load.mjs');
      const { assertion } = JSON.parse(await run(pinned(1, [process.execPath, script]), JSON.stringify(asked)));
      // The first round is the warm-up.
      if (round === 0) continue;
      raw.push(yardstick.rps);
      runs.push({ ...assertion, ratio: assertion.rps / yardstick.rps });
    }
    const middle = (key) => median(runs.map((each) => each[key]));
    report(`an assertion (${algorithm}) exchanged for an access token, stored durably, ${CONNECTIONS} connections`, {
      measured:
        `${ratio(middle('ratio'))} of raw (${thousands(middle('rps'))}/s of ${thousands(median(raw))}/s), ` +
        `p50 ${ms(middle('p50'))}, p99 ${ms(middle('p99'))}`,
      bar: '>= 0.05 of raw',
      ok: middle('ratio') >= 0.05,
    });
  } finally {
    await service.stop();
    await reference.stop();
    platform.close();
  }
}

/** A platform that publishes its key, and signs tokens for the service. */
async function openPlatform(alg) {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg, use: 'sig' }] });
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(jwks);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const address = `http://127.0.0.1:${server.address().port}`;
  const one = (now) =>
    new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg, kid: 'one' })
      .setIssuer(address)
      .setSubject(SUBJECT)
      .setAudience(AUDIENCE)
      .setIssuedAt(now)
      .setExpirationTime(now + 600)
      .sign(privateKey);
  return {
    address,
    close: () => server.close(),
    sign: (count) => {
      const now = Math.floor(Date.now() / 1000);
      return Promise.all(Array.from({ length: count }, () => one(now)));
    },
  };
}

async function measureSuspension(context) {
  const { scratch } = context;
  const dataDir = join(scratch, 'suspension');
  await suspend(context, `sqlite:${join(dataDir, 'legate.db')}`, 1, dataDir, {});
  const { startPostgres } = await fromTests('support/postgres-server');
  const postgres = await startPostgres();
  const env = { LEGATE_SECRET: '0d'.repeat(32), LEGATE_BASE_URL: 'http://localhost:3000' };
  try {
    await suspend(context, postgres.url, 2, join(scratch, 'suspensions'), env);
  } finally {
    await postgres.remove();
  }
}

/** Suspends people one after another at the first instance, and asks every instance as soon as the response arrives. */
async function suspend({ rounds, report }, databaseUrl, instances, dataDir, env) {
  const { adminToken, owners } = await fillOwners(databaseUrl, {
    owners: rounds + 1,
    agents: EACH,
    sessions: EACH,
  });
  const services = [];
  const times = [];
  const late = [];
  try {
    for (let i = 0; i < instances; i++)
      services.push(await startService(databaseUrl, `${dataDir}-${i}`, { pin: false, env }));
    for (const [round, owner] of owners.entries()) {
      const before = (await Promise.all(services.map((service) => stateOf(service, owner)))).flat();
      if (before.some(({ works }) => !works)) throw new Error(`it did not work before: ${JSON.stringify(before)}`);
      const startedAt = performance.now();
      const { status } = await send(services[0], 'PATCH', `/users/${owner.id}`, adminToken, { status: 'suspended' });
      const took = performance.now() - startedAt;
      if (status !== 200) throw new Error(`the suspension was answered with ${status}`);
      const after = (await Promise.all(services.map((service) => stateOf(service, owner)))).flat();
      late.push(...after.filter(({ refused }) => !refused));
      // The first round is the warm-up.
      if (round > 0) times.push(took);
    }
    const where = instances === 1 ? 'SQLite' : `PostgreSQL, ${instances} instances`;
    report(`suspending a person with 1,000 agents and 1,000 sessions (${where})`, {
      measured:
        `${ms(median(times))}, at worst ${ms(Math.max(...times))}; ` +
        `not yet applied in ${late.length} of the next responses`,
      bar: '<= 200 ms, applied in the next response',
      ok: Math.max(...times) <= 200 && late.length === 0,
      promise: late.length > 0,
    });
  } finally {
    for (const service of services) await service.stop();
  }
}

/** Whether an instance accepts the first and the last agent and session of a person, or refuses all of them. */
async function stateOf(service, { agentTokens, sessionTokens }) {
  const question = { action: 'read', resource: 'mcp:server3:list_issues' };
  const agents = agentTokens.map(async (token) => {
    const { status, body } = await send(service, 'POST', '/authorize', token, question);
    return {
      works: body.allowed === true,
      refused: body.allowed === false && body.reason === 'OWNER_SUSPENDED',
      status,
    };
  });
  const sessions = sessionTokens.map(async (token) => {
    const { status } = await send(service, 'GET', '/auth/session', token);
    return { works: status === 200, refused: status === 401, status };
  });
  return Promise.all([...agents, ...sessions]);
}

async function send({ url }, method, path, token, body) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}
