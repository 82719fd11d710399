import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LegateClient } from '../../src/client/index.ts';
import { legate, PROGRAM, scratchFolder } from '../support/cli.ts';

const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('legate-demo-'));

describe('legate demo', () => {
  it('prints a link that signs in once, creates activity, has a banner on each page, and leaves no files', async () => {
    const before = folders();
    const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
    const child = spawn(process.execPath, [PROGRAM, 'demo', '--rows', '500'], {
      cwd: scratchFolder(),
      env: { PATH, HOME },
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk));
    try {
      const found = (pattern: RegExp): string | undefined => pattern.exec(output)?.[1];
      await expect.poll(() => found(/Sign in \(works once\): +(\S+)\n/), { timeout: 60_000 }).toBeDefined();
      const link = new URL(found(/Sign in \(works once\): +(\S+)\n/) as string);
      expect(link.hostname).toBe('localhost');
      const page = await (await fetch(link)).text();
      expect(page).toContain('Demo: all data is fictitious');

      const client = new LegateClient({ baseUrl: link.origin });
      const token = link.searchParams.get('token') as string;
      const signedIn = (await client.magicLink.verify({ token })) as { token: string };
      await expect(client.magicLink.verify({ token })).rejects.toMatchObject({ status: 401 });

      const ada = new LegateClient({ baseUrl: link.origin, token: signedIn.token });
      expect((await ada.sessions.current()).user).toMatchObject({ role: 'admin', email: 'ada@example.com' });
      const newest = async (): Promise<string | undefined> => (await ada.audit.list({ limit: 1 }).page()).items[0]?.id;
      const first = await newest();
      await expect.poll(newest).not.toBe(first);
      expect(folders().length).toBe(before.length + 1);
    } finally {
      child.kill('SIGINT');
    }
    expect(await ended, output).toBe(0);
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
  });

  it('leaves no files if it is interrupted while it creates its data', async () => {
    const before = folders();
    const { PATH = '', HOME = '' } = process.env as { PATH?: string; HOME?: string };
    const child = spawn(process.execPath, [PROGRAM, 'demo', '--rows', '1000000', '--agents', '10000'], {
      cwd: scratchFolder(),
      env: { PATH, HOME },
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await expect.poll(() => folders().length, { timeout: 60_000 }).toBe(before.length + 1);
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
  });

  it('refuses a port in use before it creates its data, and leaves no files', async () => {
    const before = folders();
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    // The data alone would take minutes.
    const { code, stdout, stderr } = await legate(['demo', '--rows', '1000000', '--port', String(port)]);
    expect(stderr).toBe(
      `Port ${port} of 127.0.0.1 is in use. Stop the other process, or set --port to another port.\n`,
    );
    expect([code, stdout]).toEqual([1, '']);
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
  });

  it.each([
    ['in production', { NODE_ENV: 'production' }, 'not available in production'],
    ['with a data folder', { LEGATE_DATA_DIR: './data' }, 'Unset LEGATE_DATA_DIR first'],
    ['with a database', { LEGATE_DATABASE_URL: 'sqlite:x.db' }, 'Unset LEGATE_DATABASE_URL first'],
  ])('refuses to start %s', async (_, env, message) => {
    expect(await legate(['demo'], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  });
});
