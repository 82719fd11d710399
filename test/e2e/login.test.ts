import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { legate, PROGRAM, scratchFolder, serve } from '../support/cli.ts';

const env = { LEGATE_ADMIN_EMAIL: 'ada@example.com', LEGATE_ADMIN_PASSWORD: 'correct horse battery staple' };

it('legate login keeps a token that other commands use and refresh', async () => {
  const cwd = scratchFolder();
  const { url } = await serve({ cwd, env });
  const home = { XDG_CONFIG_HOME: join(cwd, 'config') };
  writeFileSync(join(cwd, 'seed.csv'), 'name,type,owner,resource,actions\ntriage,delegated,,db:x,read\n');
  const seed = () => legate(['seed', 'seed.csv', '--url', url], { cwd, env: home });
  expect(await seed()).toMatchObject({ code: 64, stderr: expect.stringContaining('npx legate login') });

  const login = spawn(process.execPath, [PROGRAM, 'login', '--url', url], { cwd, env: { ...process.env, ...home } });
  const ended = new Promise<number | null>((done) => login.once('close', done));
  let output = '';
  const code = await new Promise<string>((found) => {
    login.stderr.on('data', (chunk: Buffer) => {
      output += chunk;
      const match = /user_code=([A-Z-]{9})/.exec(output);
      if (match?.[1]) found(match[1]);
    });
  });
  const json = { 'content-type': 'application/json' };
  const credentials = { email: 'ada@example.com', password: env.LEGATE_ADMIN_PASSWORD };
  const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', headers: json, body: JSON.stringify(credentials) });
  const { token } = (await signedIn.json()) as { token: string };
  const scopes = ['agents:read', 'agents:write', 'delegations:read'].map((scope) => [`scope:${scope}`, 'on']);
  const answered = await fetch(`${url}/device`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams([['user_code', code], ['decision', 'allow'], ...(scopes as [string, string][])]),
    redirect: 'manual',
  });
  expect(answered.status).toBe(303);
  expect(await ended).toBe(0);

  const path = join(cwd, 'config/legate/credentials.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(cwd, 'config/legate')).mode & 0o777).toBe(0o700);
  expect(await seed()).toMatchObject({ code: 0, stdout: expect.stringContaining('1 agent to create') });

  writeFileSync(
    join(cwd, 'named.csv'),
    'name,type,owner,resource,actions\ntriage,delegated,ada@example.com,db:x,read\n',
  );
  expect(await legate(['seed', 'named.csv', '--url', url], { cwd, env: home })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot look up ada@example\.com\. Leave out `owner`.*\(usr_/),
  });

  // An access token that is about to expire is refreshed once, even by several concurrent commands.
  const stored = JSON.parse(readFileSync(path, 'utf8'));
  const before = stored.services[url];
  writeFileSync(path, JSON.stringify({ services: { [url]: { ...before, expiresAt: 0 } } }), { mode: 0o600 });
  const both = await Promise.all([seed(), seed()]);
  expect(both.map((r) => [r.code, r.stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  const after = JSON.parse(readFileSync(path, 'utf8')).services[url];
  expect(after.refreshToken).not.toBe(before.refreshToken);
});

it('legate login says why a service does not answer', async () => {
  const metadata = '/.well-known/oauth-authorization-server';
  const other = createServer((_, response) => response.writeHead(404).end('<h1>Not here</h1>'));
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const { stderr } = await legate(['login', '--url', url]);
  await new Promise((done) => other.close(done));
  expect(stderr).toBe(
    `${url}${metadata} does not answer as a Legate service: the answer with the status 404 is not a JSON object\n`,
  );
  expect((await legate(['login', '--url', url])).stderr).toContain('connect ECONNREFUSED 127.0.0.1:');
});

/** A service whose token endpoint gives these answers in turn; `undefined` closes the connection. */
async function standIn(answers: (readonly [status: number, body: object] | undefined)[]): Promise<string> {
  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`;
    const json = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/.well-known/oauth-authorization-server')
      json(200, { issuer: base, token_endpoint: `${base}/token`, device_authorization_endpoint: `${base}/device` });
    else if (request.url === '/device')
      json(200, { device_code: 'd', user_code: 'BCDF-GHJK', verification_uri: base, expires_in: 60, interval: 0.01 });
    else {
      const answer = answers.shift();
      if (answer) json(...answer);
      else request.socket.destroy();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const limited = { error: { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests: 20 in 60 seconds are allowed.' } };
const unavailable = { error: 'temporarily_unavailable', error_description: 'The data cannot be read.' };

it('legate login goes on while the service is limited or out of reach, and ends when it refuses', async () => {
  const tokens = { access_token: 'a', token_type: 'Bearer', expires_in: 3600 };
  const env = { XDG_CONFIG_HOME: scratchFolder() };
  const url = await standIn([[429, limited], [503, unavailable], undefined, [200, tokens]]);
  expect(await legate(['login', '--url', url, '--client-id', 'c'], { env })).toMatchObject({ code: 0 });
  const refusing = await standIn([
    [400, { error: 'authorization_pending' }],
    [400, { error: 'access_denied' }],
  ]);
  expect(await legate(['login', '--url', refusing, '--client-id', 'c'], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The service refused to log in: access_denied'),
  });
});

it('a login that cannot be refreshed for the moment has not ended', async () => {
  const cwd = scratchFolder();
  const url = await standIn([
    [429, limited],
    [400, { error: 'invalid_grant' }],
  ]);
  const login = { clientId: 'c', tokenEndpoint: `${url}/token`, accessToken: 'a', refreshToken: 'r', expiresAt: 0 };
  mkdirSync(join(cwd, 'legate'));
  writeFileSync(join(cwd, 'legate/credentials.json'), JSON.stringify({ services: { [url]: login } }));
  writeFileSync(join(cwd, 'seed.csv'), 'name,type,owner,resource,actions\ntriage,delegated,,db:x,read\n');
  const seed = () => legate(['seed', 'seed.csv', '--url', url], { cwd, env: { XDG_CONFIG_HOME: cwd } });
  expect(await seed()).toMatchObject({
    code: 1,
    stderr: `The service refused to refresh the login for ${url}: ${limited.error.message}\n`,
  });
  expect((await seed()).stderr).toContain('has ended (invalid_grant). Log in again');
});
