import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/index.ts';
import { buildCommit, makeNext } from '../support/builds.ts';
import { PROGRAM, run, scratchFolder } from '../support/cli.ts';
import { hasNginx, makeCertificate } from '../support/nginx.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { freePort } from '../support/process.ts';
import {
  agentBehind,
  askSteadily,
  keepAlive,
  nginxBefore,
  ProxiedStream,
  productionPair,
  revokeSteadily,
  send,
  signInSteadily,
} from '../support/proxied.ts';

/** The upgrade is from this commit to this version; by default, from this version to one with one more migration. */
const PREVIOUS = process.env['LEGATE_TEST_PREVIOUS'];
const BUILD_MS = 120_000;

describe.skipIf(!hasNginx())('a rolling upgrade on PostgreSQL', () => {
  it(
    'loses no decision, change, sign-in or event while both versions run, and the older one does not start again',
    async () => {
      const cwd = scratchFolder();
      const folder = join(cwd, 'other-version');
      const [older, newer] = PREVIOUS ? [buildCommit(folder, PREVIOUS), PROGRAM] : [PROGRAM, makeNext(folder)];
      const certificate = makeCertificate(cwd);
      const postgres = await startPostgres();
      const https = await freePort();
      const url = `https://localhost:${https}`;
      const pair = await productionPair(cwd, { url, databaseUrl: postgres.url, drainSeconds: 1, program: older });
      await pair.start();
      const nginx = await nginxBefore(pair, cwd, https);
      const agent = keepAlive(certificate);
      let stream: ProxiedStream | undefined;
      try {
        const { token, ownerToken, ownerId } = await agentBehind(url, agent, cwd, pair);
        const versions = async (): Promise<string[]> => {
          const { text } = await send(url, agent, { path: '/system', token: ownerToken });
          return (JSON.parse(text).instances as { version: string }[]).map(({ version }) => version).sort();
        };
        const [first, second] = await versions();
        expect(second).toBe(first);
        const readyOf = (port: number) => statusOf(port, '/health/ready');

        stream = new ProxiedStream(url, agent, '/api/legate/events/stream', ownerToken);
        await expect.poll(() => stream?.connections, { timeout: 60_000 }).toBe(1);
        const clients = askSteadily(url, agent, token, 6);
        const changes = revokeSteadily(url, agent, ownerToken, ownerId);
        const people = signInSteadily(url, agent, pair);
        const more = async (): Promise<void> => {
          const before = clients.answers.length;
          await expect.poll(() => clients.answers.length, { timeout: 60_000 }).toBeGreaterThan(before + 30);
        };
        await more();
        expect(await pair.restart(0, newer)).toBe(0);
        // Both versions serve on the new schema, for longer than nginx excludes an instance after a failure.
        const upgraded = performance.now();
        await expect.poll(() => performance.now() - upgraded, { timeout: 60_000 }).toBeGreaterThan(2500);
        await more();
        expect([await readyOf(pair.ports[0]), await readyOf(pair.ports[1])]).toEqual([200, 200]);
        if (!PREVIOUS) expect(new Set(await versions()).size).toBe(2);
        expect(await pair.restart(1, newer)).toBe(0);
        await more();

        expect(await clients.stop()).toEqual([]);
        expect(await changes.stop()).toEqual([]);
        expect(await people.stop()).toEqual([]);
        expect([clients.answers.length > 90, changes.answers.length > 4, people.answers.length > 2]).toEqual([
          true,
          true,
          true,
        ]);

        const asked = [...clients.answers, ...changes.answers].flatMap(({ text }) => text.match(/aud_\w+/) ?? []);
        const shown = () =>
          (stream?.seen ?? []).flatMap(({ id, event }) => (event === 'audit' ? id.replace('evt_', 'aud_') : []));
        await expect.poll(() => shown().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(asked.length);
        expect([stream.failed, shown().sort()]).toEqual([[], asked.sort()]);

        if (!PREVIOUS) expect(new Set(await versions()).size).toBe(1);
        const refused = await run([process.execPath, older, 'serve'], { cwd, env: { ...pair.env, PORT: '0' } });
        expect([refused.code, refused.stdout]).toEqual([expect.any(Number), '']);
        if (!PREVIOUS)
          expect(refused.stderr).toMatch(
            /migrated by a newer version of Legate \(9999-next\)\. Start version 99\.0\.0, or restore a backup/,
          );
      } finally {
        stream?.stop();
        agent.destroy();
        await nginx.stop();
        await pair.stop();
      }

      // The events of both versions form one ledger without a gap.
      const database = await openDatabase(postgres.url, { serviceName: 'legate' });
      try {
        const rows = await database.read.selectFrom('stream_events').select('seq').orderBy('seq').execute();
        expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, i) => i + 1));
      } finally {
        await database.close();
        await postgres.remove();
      }
    },
    BUILD_MS + 240_000,
  );
});

const statusOf = (port: number, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path }, (res) => {
      res.resume();
      resolve(res.statusCode);
    });
    sent.once('error', reject).end();
  });
