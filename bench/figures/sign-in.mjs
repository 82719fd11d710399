// Decisions while people sign in: hashing a password takes milliseconds of a core and must not hold the event loop.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ms, ratio } from '../support/numbers.mjs';
import { startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const SIGN_INS_PER_SECOND = 50;
const CONNECTIONS = 64;
const PERSON = { email: 'ada@example.com', password: 'correct horse battery' };

export async function measureSignIn({ scratch, generator, rounds, seconds, report }) {
  const dataDir = join(scratch, 'sign-in');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  // Two cores for the service, as hashing runs beside the event loop; everybody signs in from one address here.
  const service = await startService(databaseUrl, dataDir, { pin: false, env: { LEGATE_RATE_LIMIT_ENDPOINTS_SIGN_IN_LIMIT: '1000000', LEGATE_MULTI_SESSION_MAX_SESSIONS: '100' } });
  const send = (path, body) => fetch(service.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const ask = () => load(generator, target(service, people.small.token, ownQuestion(scratch)), CONNECTIONS, Math.max(2, seconds));
  try {
    if (!(await send('/sign-up', PERSON)).ok) throw new Error('the sign-up was refused');
    await ask();
    const alone = [];
    const beside = [];
    const took = [];
    for (let i = 0; i < rounds; i++) {
      alone.push((await ask()).p99);
      const pending = [];
      const timer = setInterval(() => {
        const from = performance.now();
        pending.push(
          send('/sign-in', PERSON).then((r) => {
            took.push(performance.now() - from);
            return r.body?.cancel().then(() => r.status);
          }),
        );
      }, 1000 / SIGN_INS_PER_SECOND);
      beside.push((await ask()).p99);
      clearInterval(timer);
      const statuses = await Promise.all(pending);
      if (statuses.some((status) => status !== 200)) throw new Error(`a sign-in was answered ${statuses.find((status) => status !== 200)}`);
    }
    const measured = median(beside) / median(alone);
    report(`decisions while ${SIGN_INS_PER_SECOND} people a second sign in`, {
      measured: `p99 ${ms(median(beside))}, ${ratio(measured)} of ${ms(median(alone))} without; a sign-in p50 ${ms(median(took))}`,
      bar: 'p99 within 2x',
      ok: measured <= 2,
    });
  } finally {
    await service.stop();
  }
}
