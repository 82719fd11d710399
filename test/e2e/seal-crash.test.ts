import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseKey, policyOfKeys, verifyConsistency } from '../../src/verify/index.ts';
import { legate, PROGRAM, root, scratchFolder, serve } from '../support/cli.ts';
import type { Json } from '../support/service.ts';

/** The process is killed before each of these steps. */
const STEPS = [
  'tiles: insert into seal_tiles',
  'tiles: update seal',
  'tiles: commit',
  'checkpoint: update seal',
  'checkpoint: insert into seal_checkpoints',
  'checkpoint: commit',
  'anchor: open',
  'anchor: write',
  'anchor: fsync file',
  'anchor: rename',
  'anchor: fsync folder',
];

/** Many more calls than any step needs. */
const MAX_CALLS = 200;

it('kill -9 between any two steps of sealing loses no row, and never causes two trees of the same size', async () => {
  const cwd = scratchFolder();
  const dataDir = join(cwd, '.legate');
  const env = {
    LEGATE_DATA_DIR: dataDir,
    LEGATE_LOG_LEVEL: 'error',
    LEGATE_ADMIN_EMAIL: 'admin@example.com',
    LEGATE_ADMIN_PASSWORD: 'correct horse battery',
  };
  await (await serve({ cwd, env })).stop();
  const token = (await legate(['admin', 'token'], { cwd, env })).stdout.trim();
  const notes = new Set<string>();
  const start = (step: string) =>
    serve({
      cwd,
      env: { ...env, KILL_BEFORE: step },
      command: [process.execPath, `--import=${join(root, 'test/support/kill-points.mjs')}`, PROGRAM, 'serve'],
    });
  const call = async (url: string, path: string, body?: object): Promise<{ status: number; text: string }> => {
    const response = await fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, text: await response.text() };
  };
  let agentId: string | undefined;
  const answered: string[] = [];

  for (const step of STEPS) {
    const service = await start(step);
    const { url } = service;
    const exit = new Promise<NodeJS.Signals | null>((resolve) =>
      service.process.once('exit', (_code, signal) => resolve(signal)),
    );
    if (!agentId) {
      const permissions = [{ resource: 'db:*', actions: ['read'] }];
      const [admin] = JSON.parse((await call(url, '/users')).text) as Json[];
      const made = await call(url, '/agents', { ownerId: admin?.id, name: 'x', type: 'autonomous', permissions });
      agentId = (JSON.parse(made.text) as Json).id;
    }
    const served = await call(url, '/ledger/checkpoint');
    if (served.status === 200) notes.add(served.text);
    const decide = async (): Promise<void> => {
      const decided = await call(url, '/authorize', { agentId, action: 'read', resource: 'db:x' });
      if (decided.status === 200) answered.push((JSON.parse(decided.text) as Json).auditId);
    };
    await decide();
    service.process.kill('SIGUSR2');
    let isAlive = true;
    void exit.then(() => (isAlive = false));
    for (let calls = 0; isAlive && calls < MAX_CALLS; calls++) {
      // The process may end during either call.
      await decide().catch(() => {});
      const proof = await call(url, `/audit/${answered.at(-1)}/proof`).catch(() => undefined);
      if (proof?.status === 200) notes.add(proof.text.slice(proof.text.indexOf('\n\n') + 2));
    }
    expect(isAlive, `no call led to the step ${step}`).toBe(false);
    expect(await exit).toBe('SIGKILL');
    expect(/step: (.*)\n$/.exec(service.output())?.[1]).toBe(step);
    const anchor = join(dataDir, 'ledger-anchor');
    if (existsSync(anchor)) notes.add(readFileSync(anchor, 'utf8'));
  }
  const service = await serve({ cwd, env });
  const { keys } = JSON.parse((await call(service.url, '/ledger/keys')).text) as Json;
  const policy = policyOfKeys((keys as string[]).map((key) => parseKey(key)));
  for (const id of answered) expect((await call(service.url, `/audit/${id}/proof`)).status).toBe(200);
  expect(answered.length).toBeGreaterThanOrEqual(STEPS.length);
  expect(notes.size).toBeGreaterThan(1);
  for (const note of notes) {
    const answer = await call(service.url, `/ledger/consistency?from=${note.split('\n')[1]}`);
    expect(answer.status, answer.text).toBe(200);
    // Throws if the current tree does not continue the earlier one.
    verifyConsistency(note, answer.text, policy);
  }
  await service.stop();
  const checked = await legate(['ledger', 'check'], { cwd, env });
  expect([checked.code, checked.stderr]).toEqual([0, '']);
});
