// The authorization server on SQLite: refreshing with rotation, authorizing with a remembered consent, exchanging
// codes.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { load, run } from '../support/load.mjs';
import { pinned } from '../support/machine.mjs';
import { median, ms, ratio, thousands } from '../support/numbers.mjs';
import { startReference, startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const CONNECTIONS = 16;
const REDIRECT_URI = 'https://app.example/callback';
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM';

export async function measureOAuth({ scratch, generator, rounds, seconds, report }) {
  const databaseUrl = `sqlite:${join(scratch, 'oauth/legate.db')}`;
  const people = await fillPeople(databaseUrl, 10);
  const service = await startService(databaseUrl, join(scratch, 'oauth'), {
    env: {
      LEGATE_RATE_LIMIT_ENDPOINTS_TOKEN_LIMIT: '1000000',
      LEGATE_RATE_LIMIT_ENDPOINTS_AUTHORIZATION_LIMIT: '1000000',
    },
  });
  const reference = await startReference();
  try {
    const client = await register(service);
    const asked = {
      url: service.url,
      connections: CONNECTIONS,
      seconds,
      clientId: client.client_id,
      redirectUri: REDIRECT_URI,
      ownerToken: people.ownerToken,
    };
    const raw = [];
    const runs = { refresh: [], authorize: [], exchange: [] };
    await consent(service, client, people.ownerToken);
    for (let round = 0; round <= rounds; round++) {
      const yardstick = await load(
        generator,
        target(reference, people.small.token, ownQuestion(scratch)),
        CONNECTIONS,
        seconds,
      );
      const refreshTokens = [];
      for (let i = 0; i < CONNECTIONS; i++) refreshTokens.push(await grant(service, client, people.ownerToken));
      const figures = {
        ...(await clientRun({ ...asked, kind: 'refresh', refreshTokens })),
        ...(await clientRun({ ...asked, kind: 'authorize' })),
      };
      // The first round is the warm-up.
      if (round === 0) continue;
      raw.push(yardstick.rps);
      for (const kind of Object.keys(runs))
        runs[kind].push({ ...figures[kind], ratio: figures[kind].rps / yardstick.rps });
    }
    const middle = (kind, key) => median(runs[kind].map((run) => run[key]));
    const measured = (kind) =>
      `${ratio(middle(kind, 'ratio'))} of raw (${thousands(middle(kind, 'rps'))}/s of ${thousands(median(raw))}/s), ` +
      `p50 ${ms(middle(kind, 'p50'))}, p99 ${ms(middle(kind, 'p99'))}`;
    report(`refresh with rotation, stored durably, ${CONNECTIONS} connections`, {
      measured: measured('refresh'),
      bar: '>= 0.10 of raw',
      ok: middle('refresh', 'ratio') >= 0.1,
    });
    report(`code exchange, stored durably, ${CONNECTIONS} connections`, {
      measured: measured('exchange'),
      bar: '>= 0.04 of raw',
      ok: middle('exchange', 'ratio') >= 0.04,
    });
    report(`authorize with a remembered consent, stored durably, ${CONNECTIONS} connections`, {
      measured: measured('authorize'),
      bar: '>= 0.02 of raw',
      ok: middle('authorize', 'ratio') >= 0.02,
    });
  } finally {
    await service.stop();
    await reference.stop();
  }
}

async function ask(service, path, init, status) {
  const response = await fetch(service.url + path, { redirect: 'manual', ...init });
  if (response.status !== status) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

const register = async (service) =>
  (
    await ask(
      service,
      '/oauth/register',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' }),
      },
      201,
    )
  ).json();

function authorizePath(client) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'mcp:read mcp:execute',
  });
  return `/oauth/authorize?${query}`;
}

const consent = async (service, client, token) => {
  const path = authorizePath(client).replace('?', '/consent?');
  const headers = { authorization: `Bearer ${token}` };
  const page = await (await ask(service, path, { headers }, 200)).text();
  const consentToken = /name="consentToken" value="([^"]+)"/.exec(page)[1];
  const ticked = { 'scope:mcp:read': 'on', 'scope:mcp:execute': 'on' };
  const body = new URLSearchParams({ ...ticked, agent: 'new', decision: 'allow', consentToken });
  return ask(service, path, { method: 'POST', headers, body }, 303);
};

/** Returns the refresh token of a new grant. */
async function grant(service, client, token) {
  const answer = await ask(service, authorizePath(client), { headers: { authorization: `Bearer ${token}` } }, 302);
  const code = new URL(answer.headers.get('location')).searchParams.get('code');
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
  });
  return (await (await ask(service, '/oauth/token', { method: 'POST', body }, 200)).json()).refresh_token;
}

const clientRun = async (input) =>
  JSON.parse(
    await run(
      pinned(1, [process.execPath, join(import.meta.dirname, '../support/oauth-load.mjs')]),
      JSON.stringify(input),
    ),
  );
