import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../src/http/node.ts';
import { createLegate } from '../../src/service.ts';
import { legate, PROGRAM, scratchFolder } from '../support/cli.ts';
import { freePort } from '../support/process.ts';

const ignore = (): void => {};
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Starts `legate witness`. Resolves with the verifier key that it prints. */
async function startWitness(cwd: string, name: string, port: number, ledgerKey: string) {
  const child = spawn(
    process.execPath,
    [PROGRAM, 'witness', '--name', name, '--log', ledgerKey, '--port', String(port)],
    { cwd, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
  const text = await new Promise<string>((resolve) => {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
      if (said.includes('Address ')) resolve(said);
    });
  });
  const [, vkey = ''] = /^Witness +(\S+)$/m.exec(text) ?? [];
  return { vkey, text, kill: (signal: NodeJS.Signals) => child.kill(signal), exit };
}

it('legate witness keeps its checkpoints after kill -9, and legate verify requires its cosignature', async () => {
  const [folder, cwd] = [scratchFolder(), scratchFolder()];
  const dataDir = join(folder, '.legate');
  const port = await freePort();
  // The witness is configured with the key of the ledger, so the ledger starts first.
  const before = await createLegate({ dataDir }, { env: {}, log });
  const [key = ''] = (await before.ledger.keys()).keys;
  await before.close();
  const first = await startWitness(cwd, 'witness.example/w1', port, key);
  expect(first.text).toContain(`Address   http://127.0.0.1:${port}\n`);
  const policy = join(folder, 'policy');
  writeFileSync(policy, `log ${key}\nwitness w1 ${first.vkey} http://127.0.0.1:${port}\nquorum w1\n`);

  const service = await createLegate({ dataDir, ledger: { policy } }, { env: {}, log });
  const server = await listen(service, { port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    await server.stop(0);
    await service.close();
  });
  const owner = await service.users.create({ email: 'a@example.com', password: 'correct horse battery' });
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  const agent = await service.agents.create({ ownerId: owner.id, name: 'x', type: 'autonomous', permissions });
  const prove = async (): Promise<string> => {
    const { auditId } = await service.authorize({ agentId: agent.id, action: 'read', resource: 'db:x' });
    return service.ledger.proof(auditId as string);
  };
  const file = join(folder, 'entry.tlog-proof');
  writeFileSync(file, await prove());
  const verified = await legate(['verify', file, '--policy', policy]);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('Seen by the witness w1 at ')]);

  const online = await legate(['verify', file, '--policy', policy, '--url', `http://127.0.0.1:${server.port}`]);
  expect([online.code, online.stdout]).toEqual([
    0,
    expect.stringMatching(/The ledger of today, of \d+ rows, continues/),
  ]);

  first.kill('SIGKILL');
  expect(await first.exit).toBe('SIGKILL');
  await expect(prove()).rejects.toMatchObject({ code: 'NOT_YET_SEALED' });
  const second = await startWitness(cwd, 'witness.example/w1', port, key);
  expect(second.vkey).toBe(first.vkey);
  writeFileSync(file, await prove());
  expect((await legate(['verify', file, '--policy', policy])).code).toBe(0);
  // A witness without its earlier state would respond that its size is 0.
  expect((await service.ledger.status()).witnesses).toMatchObject([{ name: 'w1', failure: null }]);

  const other = join(folder, 'other');
  writeFileSync(other, `log ${key}\nwitness w1 ${first.vkey.replace('w1', 'w2')}\nquorum w1\n`);
  expect((await legate(['verify', file, '--policy', other])).code).toBe(2);
  second.kill('SIGTERM');
  expect(await second.exit).toBe(0);
});

it('legate witness names missing options', async () => {
  for (const [args, said] of [
    [[], /--name .* --log/],
    [['--name', 'w'], /--name .* --log/],
    [['--name', 'w', '--log', 'x'], /is not a verifier key/],
    [['--name', 'w', '--log', 'x', '--port', 'y'], /--port must be a number/],
  ] as const) {
    const { code, stderr } = await legate(['witness', ...args]);
    expect([args, code, stderr]).toEqual([args, 64, expect.stringMatching(said)]);
  }
});
