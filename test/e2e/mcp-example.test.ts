import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chromiumPath, openContext } from '../support/chromium.ts';
import { legate, PROGRAM, root, run, scratchFolder, serve } from '../support/cli.ts';
import { connectV1, connectV2, provider } from '../support/mcp-clients.ts';
import { freePort, type Running } from '../support/process.ts';
import { WebPerson } from '../support/web-person.ts';

const example = (file: string): string => join(root, 'examples/mcp-server', file);
const startExample = async (): Promise<{ running: Running; base: string; url: string }> => {
  const running = await serve({
    cwd: root,
    env: { LEGATE_DATA_DIR: scratchFolder() },
    command: [process.execPath, example('server.mjs')],
  });
  const base = running.url.replace('127.0.0.1', 'localhost');
  return { running, base, url: `${base}/notes/mcp` };
};

/** Runs a program that prints a URL. `person` opens the URL, and the test follows the redirect. */
async function withLogin(
  command: readonly [string, ...string[]],
  person: (address: string) => Promise<void>,
): Promise<{ code: number | null; output: string }> {
  const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
  const child = spawn(command[0], command.slice(1), { cwd: root, env: { PATH, HOME }, timeout: 60_000 });
  let output = '';
  let opened: Promise<void> | undefined;
  const read = (chunk: Buffer): void => {
    output += chunk;
    const address = /^ {2}(http\S+)$/m.exec(output)?.[1];
    if (address !== undefined && output.includes(`${address}\n`)) opened ??= person(address);
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  await opened;
  return { code, output };
}

const byForms =
  (person: WebPerson) =>
  async (address: string): Promise<void> => {
    await fetch(await person.decide(address));
  };

describe('examples/mcp-server, by its README', () => {
  it('its client gets from 401 to a tool call, and the doctor finds no problem', async () => {
    const { running, base, url } = await startExample();
    const refused = await fetch(url, { method: 'POST' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer scope="mcp:read mcp:execute", issuer="${base}", resource="${url}", ` +
        `resource_metadata="${base}/.well-known/oauth-protected-resource/notes/mcp"`,
    ]);

    const person = new WebPerson();
    await person.signUp(base);
    const search = await withLogin(
      [process.execPath, example('client.mjs'), url, 'search', '{"query":"milk"}'],
      byForms(person),
    );
    expect([search.code, search.output], search.output).toEqual([
      0,
      expect.stringContaining('MCP 2026-07-28\ntools: search, add, whoami\n1: Buy milk\n'),
    ]);

    const examined = await withLogin([process.execPath, PROGRAM, 'doctor', url], byForms(person));
    expect(examined.code, examined.output).toBe(0);
    expect(examined.output.match(/^✓ /gm)).toHaveLength(8);
    expect(examined.output).toContain('An MCP client can log in and call tools.');
    expect(await running.stop()).toBe(0);
  });

  it.each([
    ['the MCP SDK, version 1', connectV1, '2025-11-25'],
    ['the MCP client package, version 2', connectV2(), '2025-11-25'],
    ['the MCP client package, pinned to 2026-07-28', connectV2({ pin: '2026-07-28' }), '2026-07-28'],
  ])('%s lists and calls tools, and receives a refusal as a result', async (_name, connect, revision) => {
    const { running, base, url } = await startExample();
    const person = new WebPerson();
    const { token: session } = await person.signUp(base);
    const auth = provider();
    const client = await connect(url, auth, person);
    expect(client.revision).toBe(revision);
    expect(await client.tools()).toEqual(['search', 'add', 'whoami']);
    expect(await client.call('add', { note: 'Buy eggs' })).toEqual([{ type: 'text', text: 'added as 2' }]);
    expect(await client.call('search', { query: 'eggs' })).toEqual([{ type: 'text', text: '2: Buy eggs' }]);
    const [who] = (await client.call('whoami')) as { text: string }[];
    const { agentId } = JSON.parse(who?.text ?? '') as { agentId: string };

    const narrowed = await fetch(`${base}/agents/${agentId}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${session}`, 'content-type': 'application/json' },
      body: JSON.stringify({ permissions: [{ resource: 'mcp:notes:search', actions: ['execute'] }] }),
    });
    expect(narrowed.status).toBe(200);
    const refused = await client.result('add', { note: 'Buy tea' });
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('NO_PERMISSION') }] });
    expect(await client.call('search', { query: 'tea' })).toEqual([{ type: 'text', text: 'nothing found' }]);

    const from = (origin: string): Promise<number> =>
      fetch(url, {
        method: 'POST',
        headers: {
          origin,
          authorization: `Bearer ${auth.kept.tokens?.access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      }).then((response) => response.status);
    expect([await from(base), await from('https://evil.example'), await from('null')]).toEqual([200, 403, 403]);
    await client.close();
    expect(await running.stop()).toBe(0);
  });

  it.skipIf(chromiumPath === undefined)('in Chromium: sign up, allow, and the terminal continues', async () => {
    const { running, url } = await startExample();
    const page = await (await openContext({ locale: 'en-US' })).newPage();
    const done = await withLogin([process.execPath, example('client.mjs'), url, 'whoami'], async (address) => {
      await page.goto(address);
      await page
        .getByRole('link', { name: /sign up|create/i })
        .first()
        .click();
      await page.getByLabel(/e-mail/i).fill('ada@example.com');
      await page
        .getByLabel(/password/i)
        .first()
        .fill('correct horse battery staple');
      await page.locator('form[method=post] button').last().click();
      await page.getByRole('button', { name: /^allow/i }).click();
      await page.getByText('back to the terminal').waitFor();
    });
    expect(done.code, done.output).toBe(0);
    expect(done.output).toMatch(/\{"agentId":"agt_\w{26}","userId":"usr_\w{26}"\}/);
    expect(await running.stop()).toBe(0);
  });

  it('has the statements that its README names', () => {
    const readme = readFileSync(example('README.md'), 'utf8');
    const source = readFileSync(example('server.mjs'), 'utf8');
    for (const statement of [
      'legate.mcp.registerServer(',
      'app.use(honoMcp({ legate, server, allowedOrigins: [base] }))',
      'app.use(honoLegate(legate))',
    ])
      expect(source).toContain(statement);
    for (const file of ['examples/mcp-server/server.mjs', 'examples/mcp-server/client.mjs'])
      expect(readme).toContain(`node ${file}`);
  });
});

describe('legate doctor', () => {
  it('names the broken step and exits with 1', async () => {
    const open = createServer((_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    await new Promise<void>((resolve) => open.listen(0, '127.0.0.1', resolve));
    try {
      const { code, stdout, stderr } = await run(
        [process.execPath, PROGRAM, 'doctor', `http://127.0.0.1:${(open.address() as AddressInfo).port}/mcp`],
        { cwd: scratchFolder() },
      );
      expect(code).toBe(1);
      expect(stdout).toMatch(/^✗ reach .*✗ status: is 200: the server answers without a token.*– call .*not reached/s);
      expect(stderr).toContain('One step failed.');
    } finally {
      open.close();
      open.closeAllConnections();
    }
  });

  it('reports that there is no response', async () => {
    const { code, stdout } = await legate(['doctor', `http://127.0.0.1:${await freePort()}/mcp`, '--no-login']);
    expect([code, stdout]).toEqual([1, expect.stringContaining('✗ connection: no answer from')]);
  });

  it.each([
    [[]],
    [['mcp.example.com']],
    [['https://a.example/mcp', 'https://b.example/mcp']],
    [['https://a.example/mcp', '--wait', 'x']],
  ])('exits with 64 for %j', async (args) => {
    expect((await legate(['doctor', ...args])).code).toBe(64);
  });
});
