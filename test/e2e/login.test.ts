import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
