// Sessions: the check of a session, and decisions during sign-ins.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { compare, load } from '../support/load.mjs';
import { median, ms, ratio, sleep, thousands } from '../support/numbers.mjs';
import { startReference, startService, writeBodies } from '../support/service.mjs';

const password = 'correct horse battery';
const SIGN_INS_A_SECOND = 50;
const ANY_NUMBER_OF_SIGN_INS = { LEGATE_RATE_LIMIT_ENDPOINTS_SIGN_IN_LIMIT: '1000000' };

export async function measureSessions(context) {
  await measureCheck(context);
  await measureHashing(context);
}

async function measureCheck({ scratch, generator, rounds, seconds, report }) {
  const dataDir = join(scratch, 'sessions');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  await fillPeople(databaseUrl, 10);
  const reference = await startReference();
  const service = await startService(databaseUrl, dataDir, { env: ANY_NUMBER_OF_SIGN_INS });
  try {
    const { token } = await post(`${service.url}/sign-up`, { email: 'bench@example.com', password });
    const check = (server) => ({ url: `${server.url}/auth/session`, token });
    const checked = await compare(generator, check(reference), check(service), { connections: 64, rounds, seconds });
    report('GET /auth/session, 64 connections', {
      measured:
        `${ratio(checked.ratio)} of raw (${thousands(checked.b.rps)}/s of ${thousands(checked.a.rps)}/s), ` +
        `p99 ${ms(checked.b.p99)}`,
      bar: '>= 0.30 of raw',
      ok: checked.ratio >= 0.3,
    });
  } finally {
    await service.stop();
    await reference.stop();
  }
}

/**
 * Whether hashing delays decisions. The service may use every core, as in production, because its hashing threads are
 * separate from the event loop.
 */
async function measureHashing({ scratch, generator, rounds, seconds, report }) {
  const dataDir = join(scratch, 'hashing');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  const service = await startService(databaseUrl, dataDir, { pin: false, env: ANY_NUMBER_OF_SIGN_INS });
  try {
    await post(`${service.url}/sign-up`, { email: 'bench@example.com', password });
    const bodies = writeBodies(join(scratch, 'sessions.txt'), [
      { action: 'read', resource: 'mcp:server3:list_issues' },
    ]);
    const decisions = () =>
      load(generator, { url: `${service.url}/authorize`, token: people.small.token, bodies }, 64, seconds);
    await decisions();
    const quiet = [];
    const busy = [];
    let signedIn = 0;
    for (let i = 0; i < rounds; i++) {
      quiet.push((await decisions()).p99);
      const stop = signInSteadily(service.url, () => signedIn++);
      busy.push((await decisions()).p99);
      await stop();
    }
    const times = median(busy) / median(quiet);
    report(`decisions while ${SIGN_INS_A_SECOND} sign-ins a second are checked`, {
      measured:
        `p99 ${ms(median(busy))} against ${ms(median(quiet))} (${ratio(times)} times), ` +
        `${thousands(signedIn / (rounds * seconds))} sign-ins/s`,
      bar: 'p99 <= 2 times',
      ok: times <= 2,
    });
  } finally {
    await service.stop();
  }
}

/** Sends sign-ins at their rate until it is stopped; resolves when the last response has arrived. */
function signInSteadily(url, done) {
  const open = new Set();
  const timer = setInterval(() => {
    const one = post(`${url}/sign-in`, { email: 'bench@example.com', password }).then(done);
    open.add(one);
    void one.finally(() => open.delete(one));
  }, 1000 / SIGN_INS_A_SECOND);
  return async () => {
    clearInterval(timer);
    await Promise.all(open);
    await sleep(100);
  };
}

async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return response.json();
}
